/* SPDX-License-Identifier: MIT */
/*
 * How a program with the device inside sleeps: a thread that waits for an event, and one that posts
 * and then sleeps in a call that the device knows nothing of. They run under rnic-run --direct, on
 * a device with one address.
 */
#include "tests/unit/thread_state.h"
#include "tests/unit/unit_test.h"

#include <rnic/rnic.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS = 100,
	MESSAGE_BYTES = 8,
	GRH_BYTES = 40,
	QKEY = 0x1234,
	EVENT_MS = 3000,
	NS_PER_S = 1000000000,
	NS_PER_US = 1000,
	SLEEP_SHARE = 8, /* a post waits for less than this part of a sleep of 1 ms */
};

/* A datagram queue pair that sends to itself. */
struct station {
	struct rnic_context *context;
	struct rnic_channel *channel;
	struct rnic_cq *send_cq;
	struct rnic_cq *recv_cq;
	struct rnic_pd *pd;
	struct rnic_mr *mr;
	struct rnic_qp *qp;
	struct rnic_ah *ah;
	pid_t device_tid;
	uint8_t bytes[GRH_BYTES + MESSAGE_BYTES];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The one thread of this process beside the caller. */
static pid_t find_device_thread(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const pid_t own = (pid_t)syscall(SYS_gettid);
	const struct dirent *task;
	pid_t found = 0;

	assert_non_null(tasks);
	while ((task = readdir(tasks)) != NULL) {
		const pid_t tid = (pid_t)atoi(task->d_name);

		if (tid == 0 || tid == own)
			continue;
		assert_int_equal(found, 0);
		found = tid;
	}
	closedir(tasks);
	assert_int_not_equal(found, 0);
	return found;
}

/* How often the device's thread has come to a processor: it was woken, or went on. */
static unsigned long runs_of_device(const struct station *station)
{
	FILE *file = thread_open(station->device_tid, "schedstat");
	unsigned long runs = 0;

	assert_int_equal(fscanf(file, "%*u %*u %lu", &runs), 1);
	fclose(file);
	return runs;
}

/* Waits until the thread sleeps. A thread that sleeps has no lock. */
static void await_sleep_of(pid_t tid)
{
	unsigned asleep = 0;

	for (unsigned i = 0; i < 2000 && asleep < 5; i++) {
		poll(NULL, 0, 5);
		asleep = thread_is_asleep(tid) ? asleep + 1 : 0;
	}
	assert_int_equal(asleep, 5);
}

static void station_get_ready(struct station *station)
{
	struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_INIT, .port = 1, .qkey = QKEY};
	struct rnic_path path = {.port = 1, .is_global = 1, .hop_limit = 1};

	assert_int_equal(rnic_modify_qp(station->qp, &attributes,
					RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
						RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_QKEY),
			 0);
	attributes.state = RNIC_QP_STATE_RTR;
	assert_int_equal(rnic_modify_qp(station->qp, &attributes, RNIC_QP_ATTR_STATE), 0);
	attributes.state = RNIC_QP_STATE_RTS;
	assert_int_equal(
		rnic_modify_qp(station->qp, &attributes, RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_SQ_PSN),
		0);
	assert_int_equal(rnic_query_gid(station->context, 0, &path.dest_gid, NULL), 0);
	assert_int_equal(rnic_create_ah(station->pd, &path, &station->ah), 0);
}

static void station_open(struct station *station)
{
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_UD,
		.signal_all = true,
		.capacities = {.max_send_wr = 16,
			       .max_recv_wr = 16,
			       .max_send_sge = 1,
			       .max_recv_sge = 1},
	};

	*station = (struct station){0};
	assert_int_equal(rnic_open(NULL, &station->context), 0);
	station->device_tid = find_device_thread();
	assert_int_equal(rnic_create_channel(station->context, &station->channel), 0);
	assert_int_equal(rnic_create_cq(station->context, 64, NULL, 0, RNIC_CQ_TIMESTAMPS, NULL,
					&station->send_cq),
			 0);
	assert_int_equal(rnic_create_cq(station->context, 64, station->channel, 0, 0, NULL,
					&station->recv_cq),
			 0);
	assert_int_equal(rnic_alloc_pd(station->context, &station->pd), 0);
	assert_int_equal(rnic_reg_mr(station->pd, station->bytes, sizeof(station->bytes),
				     (uintptr_t)station->bytes, RNIC_ACCESS_LOCAL_WRITE,
				     &station->mr),
			 0);
	options.send_cq = station->send_cq;
	options.recv_cq = station->recv_cq;
	assert_int_equal(rnic_create_qp(station->pd, &options, &station->qp), 0);
	station_get_ready(station);
}

static void station_close(struct station *station)
{
	assert_int_equal(rnic_destroy_ah(station->ah), 0);
	assert_int_equal(rnic_destroy_qp(station->qp), 0);
	assert_int_equal(rnic_dereg_mr(station->mr), 0);
	assert_int_equal(rnic_dealloc_pd(station->pd), 0);
	assert_int_equal(rnic_destroy_cq(station->recv_cq), 0);
	assert_int_equal(rnic_destroy_cq(station->send_cq), 0);
	assert_int_equal(rnic_destroy_channel(station->channel), 0);
	rnic_close(station->context);
}

static void send_one(struct station *station)
{
	uint64_t message = 0;
	const struct rnic_sge piece = {.address = (uintptr_t)&message, .length = sizeof(message)};
	const struct rnic_send_wr wr = {
		.sge_list = &piece,
		.sge_count = 1,
		.opcode = RNIC_WR_SEND,
		.flags = RNIC_SEND_INLINE,
		.datagram = {station->ah, rnic_qp_number(station->qp), QKEY},
	};
	const struct rnic_send_wr *bad;

	assert_int_equal(rnic_post_send(station->qp, &wr, &bad), 0);
}

static void receive_one(struct station *station)
{
	const struct rnic_sge piece = {
		.address = (uintptr_t)station->bytes,
		.length = sizeof(station->bytes),
		.lkey = rnic_mr_lkey(station->mr),
	};
	const struct rnic_recv_wr wr = {.sge_list = &piece, .sge_count = 1}, *bad;

	assert_int_equal(rnic_post_recv(station->qp, &wr, &bad), 0);
}

static struct rnic_completion next_of(struct rnic_cq *cq)
{
	struct rnic_completion completion;
	int count;

	do
		count = rnic_poll_cq(cq, 1, &completion);
	while (count == 0);
	assert_int_equal(count, 1);
	assert_int_equal(completion.status, RNIC_WC_SUCCESS);
	return completion;
}

/* --- posting, then sleeping ------------------------------------------------------------------- */

struct pair_of_posts {
	uint64_t ended_ns; /* both posts have returned */
	uint64_t left_ns;  /* the second one was sent */
	uint64_t woke_ns;  /* the program has slept */
};

/* Posts twice, and sleeps where the device does not see it. */
static struct pair_of_posts post_two(struct station *station)
{
	struct pair_of_posts posts;

	send_one(station);
	send_one(station);
	posts.ended_ns = now_ns();
	poll(NULL, 0, 1);
	posts.woke_ns = now_ns();
	next_of(station->send_cq);
	posts.left_ns = next_of(station->send_cq).timestamp_ns;
	return posts;
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

static uint64_t median_of(uint64_t times[ROUNDS])
{
	qsort(times, ROUNDS, sizeof(times[0]), compare_times);
	return times[ROUNDS / 2];
}

/*
 * A machine that is busy wakes both late, the program and the device's thread. At the end of its
 * lease the thread would be too late.
 */
static void the_second_post_leaves_though_the_program_sleeps(void **state)
{
	uint64_t waits_ns[ROUNDS], sleeps_ns[ROUNDS], wait_ns, sleep_ns;
	struct station station;

	(void)state;
	station_open(&station);
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct pair_of_posts posts = post_two(&station);
		const bool has_waited = posts.left_ns > posts.ended_ns;

		waits_ns[i] = has_waited ? posts.left_ns - posts.ended_ns : 0;
		sleeps_ns[i] = posts.woke_ns - posts.ended_ns;
	}
	wait_ns = median_of(waits_ns);
	sleep_ns = median_of(sleeps_ns);
	print_message("the second post waits %lu us in a sleep of %lu us\n",
		      (unsigned long)wait_ns / NS_PER_US, (unsigned long)sleep_ns / NS_PER_US);
	assert_true(wait_ns < sleep_ns / SLEEP_SHARE);
	station_close(&station);
}

/* With an event armed a program is about to sleep: no post waits for others. */
static void where_an_event_is_armed_each_post_leaves_at_once(void **state)
{
	struct station station;

	(void)state;
	station_open(&station);
	assert_int_equal(rnic_req_notify_cq(station.recv_cq, false), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct pair_of_posts posts = post_two(&station);

		assert_true(posts.left_ns <= posts.ended_ns);
	}
	station_close(&station);
}

/* --- waiting for events ----------------------------------------------------------------------- */

struct waiter {
	struct station *station;
	sem_t goes_to_wait;
	sem_t has_event;
	unsigned rounds;
	unsigned long runs_before;
	unsigned long runs; /* of the device's thread, until the event was there */
	pid_t tid;
};

static void *wait_for_events(void *argument)
{
	struct waiter *waiter = argument;
	struct station *station = waiter->station;
	struct rnic_cq *cq;

	for (unsigned i = 0; i < waiter->rounds; i++) {
		receive_one(station);
		rnic_req_notify_cq(station->recv_cq, false);
		sem_post(&waiter->goes_to_wait);
		if (rnic_get_cq_event(station->channel, &cq) != 0)
			break;
		waiter->runs += runs_of_device(station) - waiter->runs_before;
		rnic_ack_cq_events(cq, 1);
		next_of(station->recv_cq);
		sem_post(&waiter->has_event);
	}
	return NULL;
}

/* The thread that waits for the event receives by itself: nobody else need wake before it. */
static void an_event_wakes_one_thread(void **state)
{
	struct station station;
	struct waiter waiter = {.station = &station, .rounds = ROUNDS};
	pthread_t thread;

	(void)state;
	station_open(&station);
	sem_init(&waiter.goes_to_wait, 0, 0);
	sem_init(&waiter.has_event, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_events, &waiter), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		sem_wait(&waiter.goes_to_wait);
		poll(NULL, 0, 2); /* until all sleep */
		waiter.runs_before = runs_of_device(&station);
		send_one(&station);
		sem_wait(&waiter.has_event);
		next_of(station.send_cq);
	}
	pthread_join(thread, NULL);
	print_message("%lu runs of the device's thread in %d events\n", waiter.runs, ROUNDS);
	assert_true(waiter.runs < ROUNDS / 2);
	sem_destroy(&waiter.goes_to_wait);
	sem_destroy(&waiter.has_event);
	station_close(&station);
}

static void *wait_for_one_event(void *argument)
{
	struct waiter *waiter = argument;
	struct rnic_cq *cq;

	sem_post(&waiter->goes_to_wait);
	return (void *)(intptr_t)rnic_get_cq_event(waiter->station->channel, &cq);
}

/* Returns when the thread is about to wait. */
static pthread_t start_waiter(struct waiter *waiter, void *(*wait)(void *))
{
	pthread_t thread;

	sem_init(&waiter->goes_to_wait, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, wait, waiter), 0);
	sem_wait(&waiter->goes_to_wait);
	return thread;
}

/* A thread that waits can be cancelled, and the device goes on without it. */
static void a_thread_that_waits_can_be_cancelled(void **state)
{
	struct station station;
	struct waiter waiter = {.station = &station};
	pthread_t thread;
	void *result;

	(void)state;
	station_open(&station);
	thread = start_waiter(&waiter, wait_for_one_event);
	poll(NULL, 0, 2); /* sleeping or not, it ends */
	pthread_cancel(thread);
	pthread_join(thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	send_one(&station);
	poll(NULL, 0, 2);
	next_of(station.send_cq);
	sem_destroy(&waiter.goes_to_wait);
	station_close(&station);
}

static void take_signal(int number)
{
	(void)number;
}

/* Sends a signal to a thread that waits beside a handler of the other kind, until it has come back,
 * or for long enough. */
static intptr_t result_of_signals(int flags, bool ends)
{
	const struct sigaction action = {.sa_handler = take_signal, .sa_flags = flags};
	const struct sigaction other = {.sa_handler = take_signal, .sa_flags = SA_RESTART ^ flags};
	struct station station;
	struct waiter waiter = {.station = &station};
	pthread_t thread;
	void *result;

	station_open(&station);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, &other, NULL), 0);
	receive_one(&station);
	assert_int_equal(rnic_req_notify_cq(station.recv_cq, false), 0);
	thread = start_waiter(&waiter, wait_for_one_event);
	for (unsigned i = 0; i < 5; i++) {
		poll(NULL, 0, 2);
		pthread_kill(thread, SIGUSR1);
	}
	if (!ends)
		send_one(&station);
	pthread_join(thread, &result);
	assert_true(signal(SIGUSR1, SIG_DFL) != SIG_ERR && signal(SIGUSR2, SIG_DFL) != SIG_ERR);
	if (!ends)
		rnic_ack_cq_events(station.recv_cq, 1);
	sem_destroy(&waiter.goes_to_wait);
	station_close(&station);
	return (intptr_t)result;
}

/* As read(2) does: with SA_RESTART it goes on, also where a handler of the other kind never runs.
 */
static void signals_end_a_wait_as_their_handlers_say(void **state)
{
	(void)state;
	assert_int_equal(result_of_signals(SA_RESTART, false), 0);
	assert_int_equal(result_of_signals(0, true), -EINTR);
}

static atomic_int forked; /* 0: not yet; in the child -1 */

static void fork_once(int number)
{
	const pid_t child = fork();

	(void)number;
	atomic_store(&forked, child == 0 ? -1 : child);
}

/* In the child the wait ends with an error: there is no device. */
static void *wait_beside_a_fork(void *argument)
{
	struct waiter *waiter = argument;
	void *result;

	waiter->tid = (pid_t)syscall(SYS_gettid);
	result = wait_for_one_event(waiter);

	if (atomic_load(&forked) == -1)
		_exit(result != NULL ? 0 : 1);
	return result;
}

/* Returns the status of the child; -1: the child does not end. */
static int status_of(pid_t child)
{
	int status;

	for (unsigned i = 0; i < 5000; i++) {
		if (waitpid(child, &status, WNOHANG) == child)
			return status;
		poll(NULL, 0, 1);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return -1;
}

static void a_child_that_a_handler_forks_leaves_the_wait(void **state)
{
	const struct sigaction action = {.sa_handler = fork_once};
	struct station station;
	struct waiter waiter = {.station = &station};
	pthread_t thread;
	void *result;

	(void)state;
	station_open(&station);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	thread = start_waiter(&waiter, wait_beside_a_fork);
	await_sleep_of(waiter.tid);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, -EINTR);
	assert_int_equal(status_of(atomic_load(&forked)), 0);
	assert_true(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
	sem_destroy(&waiter.goes_to_wait);
	station_close(&station);
}

/* --- events of requests ----------------------------------------------------------------------- */

/* The program only sleeps in poll(2): the type of the event that comes; -1: none comes. */
static int type_of_event(const struct station *station)
{
	struct pollfd events = {.fd = rnic_async_fd(station->context), .events = POLLIN};
	struct rnic_async_event event;

	if (poll(&events, 1, EVENT_MS) != 1)
		return -1;
	assert_int_equal(rnic_get_async_event(station->context, &event), 0);
	rnic_ack_async_event(&event);
	return (int)event.type;
}

/* An SRQ with fewer entries than the limit raises the event at once. */
static int event_of_srq_limit(struct station *station)
{
	struct rnic_srq_options options = {.max_wr = 16, .max_sge = 1};
	const struct rnic_srq_attributes attributes = {.limit = 10};
	struct rnic_srq *srq;
	int type;

	assert_int_equal(rnic_create_srq(station->pd, &options, &srq), 0);
	assert_int_equal(rnic_modify_srq(srq, &attributes, RNIC_SRQ_ATTR_LIMIT), 0);
	type = type_of_event(station);
	assert_int_equal(rnic_destroy_srq(srq), 0);
	return type;
}

static int event_of_drained_queue(struct station *station)
{
	const struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_SQD,
						      .en_sqd_async_notify = 1};

	assert_int_equal(rnic_modify_qp(station->qp, &attributes,
					RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_EN_SQD_ASYNC_NOTIFY),
			 0);
	return type_of_event(station);
}

static int event_of_last_wqe(struct station *station)
{
	struct rnic_srq_options srq_options = {.max_wr = 16, .max_sge = 1};
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_RC,
		.send_cq = station->send_cq,
		.recv_cq = station->recv_cq,
		.capacities = {.max_send_wr = 1, .max_send_sge = 1},
	};
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_INIT, .port = 1};
	struct rnic_qp *qp;
	int type;

	assert_int_equal(rnic_create_srq(station->pd, &srq_options, &options.srq), 0);
	assert_int_equal(rnic_create_qp(station->pd, &options, &qp), 0);
	assert_int_equal(rnic_modify_qp(qp, &attributes,
					RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
						RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_ACCESS_FLAGS),
			 0);
	attributes.state = RNIC_QP_STATE_ERR;
	assert_int_equal(rnic_modify_qp(qp, &attributes, RNIC_QP_ATTR_STATE), 0);
	type = type_of_event(station);
	assert_int_equal(rnic_destroy_qp(qp), 0);
	assert_int_equal(rnic_destroy_srq(options.srq), 0);
	return type;
}

/* The receive that waits is flushed, which is what the armed queue tells of. */
static bool has_event_of_flush(struct station *station)
{
	const struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_ERR};
	struct pollfd events = {.fd = rnic_channel_fd(station->channel), .events = POLLIN};
	struct rnic_cq *cq;

	receive_one(station);
	assert_int_equal(rnic_req_notify_cq(station->recv_cq, false), 0);
	assert_int_equal(rnic_modify_qp(station->qp, &attributes, RNIC_QP_ATTR_STATE), 0);
	if (poll(&events, 1, EVENT_MS) != 1)
		return false;
	assert_int_equal(rnic_get_cq_event(station->channel, &cq), 0);
	rnic_ack_cq_events(cq, 1);
	return true;
}

/* Nothing but the request gives the device a reason to run. */
static void events_of_requests_come_though_the_program_sleeps(void **state)
{
	struct station station;

	(void)state;
	station_open(&station);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(event_of_srq_limit(&station), RNIC_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(event_of_last_wqe(&station), RNIC_EVENT_QP_LAST_WQE_REACHED);
	assert_int_equal(event_of_drained_queue(&station), RNIC_EVENT_SQ_DRAINED);
	assert_true(has_event_of_flush(&station));
	station_close(&station);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_requests_come_though_the_program_sleeps),
		cmocka_unit_test(the_second_post_leaves_though_the_program_sleeps),
		cmocka_unit_test(where_an_event_is_armed_each_post_leaves_at_once),
		cmocka_unit_test(an_event_wakes_one_thread),
		cmocka_unit_test(a_thread_that_waits_can_be_cancelled),
		cmocka_unit_test(signals_end_a_wait_as_their_handlers_say),
		cmocka_unit_test(a_child_that_a_handler_forks_leaves_the_wait),
	};

	/* The device's thread is then the one that this process has besides. */
	setenv("RNIC_WATCH", "off", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
