/* SPDX-License-Identifier: MIT */
/*
 * Signals in the calls that wait: each call goes on after a handler with SA_RESTART, and ends with
 * EINTR after one without, as calls of a kernel device do. A handler of the other kind is there as
 * well, and never runs. On a device with one address, under rnic-run.
 */
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/unit/thread_state.h"
#include "tests/unit/unit_test.h"

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct station {
	struct bench *bench;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id; /* with a queue pair, and a channel for each of its queues */
	struct ibv_mr *mr;
	struct sockaddr_in address;
	uint8_t bytes[64];
};

/* A call that waits: -1 and errno, or something else when it came back with what it waits for. */
typedef int waiting_call(struct station *station);

struct waiter {
	struct station *station;
	waiting_call *call;
	atomic_int tid;
	int result;
	int error;
};

static atomic_uint signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static void take_address(struct station *station)
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
	union ibv_gid gid;

	for (int index = 0; ibv_query_gid(station->bench->context, 1, index, &gid) == 0; index++)
		if (memcmp(gid.raw, mapped, sizeof(mapped)) == 0)
			break;
	assert_memory_equal(gid.raw, mapped, sizeof(mapped));
	station->address.sin_family = AF_INET;
	memcpy(&station->address.sin_addr, gid.raw + sizeof(mapped), 4);
}

static void station_open(struct station *station)
{
	struct ibv_qp_init_attr wanted = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
	};

	*station = (struct station){.bench = bench_start_shared(IBV_QPT_RC, 16)};
	take_address(station);
	station->events = rdma_create_event_channel();
	assert_non_null(station->events);
	assert_int_equal(rdma_create_id(station->events, &station->id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(station->id, (struct sockaddr *)&station->address), 0);
	assert_int_equal(rdma_create_qp(station->id, NULL, &wanted), 0);
	station->mr = rdma_reg_msgs(station->id, station->bytes, sizeof(station->bytes));
	assert_non_null(station->mr);
	assert_int_equal(rdma_post_recv(station->id, NULL, station->bytes, sizeof(station->bytes),
					station->mr),
			 0);
}

static void station_close(struct station *station)
{
	rdma_destroy_qp(station->id);
	assert_int_equal(rdma_dereg_mr(station->mr), 0);
	assert_int_equal(rdma_destroy_id(station->id), 0);
	rdma_destroy_event_channel(station->events);
	bench_stop(station->bench);
}

/* --- the calls, and what they wait for -------------------------------------------------------- */

static int get_cq_event(struct station *station)
{
	struct ibv_cq *cq;
	void *context;
	int result;

	assert_int_equal(ibv_req_notify_cq(station->id->recv_cq, 0), 0);
	result = ibv_get_cq_event(station->id->recv_cq_channel, &cq, &context);
	if (result == 0)
		ibv_ack_cq_events(cq, 1);
	return result;
}

static int get_recv_comp(struct station *station)
{
	struct ibv_wc wc;

	return rdma_get_recv_comp(station->id, &wc);
}

static void flush_receive(struct station *station)
{
	struct ibv_qp_attr wanted = {.qp_state = IBV_QPS_ERR};

	assert_int_equal(ibv_modify_qp(station->id->qp, &wanted, IBV_QP_STATE), 0);
}

static int get_async_event(struct station *station)
{
	struct ibv_async_event event;
	int result = ibv_get_async_event(station->bench->context, &event);

	if (result == 0)
		ibv_ack_async_event(&event);
	return result;
}

static void reach_limit(struct station *station)
{
	struct ibv_srq_attr wanted = {.srq_limit = 10};

	assert_int_equal(ibv_modify_srq(station->bench->srq, &wanted, IBV_SRQ_LIMIT), 0);
}

static int get_cm_event(struct station *station)
{
	struct rdma_cm_event *event;
	int result = rdma_get_cm_event(station->events, &event);

	if (result == 0)
		rdma_ack_cm_event(event);
	return result;
}

static void resolve_address(struct station *station)
{
	assert_int_equal(
		rdma_resolve_addr(station->id, NULL, (struct sockaddr *)&station->address, 1000),
		0);
}

static const struct {
	const char *name;
	waiting_call *call;
	void (*end)(struct station *station);
} calls[] = {
	{"ibv_get_cq_event", get_cq_event, flush_receive},
	{"rdma_get_recv_comp", get_recv_comp, flush_receive},
	{"ibv_get_async_event", get_async_event, reach_limit},
	{"rdma_get_cm_event", get_cm_event, resolve_address},
};

/* ---------------------------------------------------------------------------------------------- */

static void *wait_in_call(void *argument)
{
	struct waiter *waiter = argument;

	atomic_store(&waiter->tid, (int)syscall(SYS_gettid));
	errno = 0;
	waiter->result = waiter->call(waiter->station);
	waiter->error = errno;
	return NULL;
}

static void await_sleep_of(struct waiter *waiter)
{
	unsigned asleep = 0;

	for (unsigned i = 0; i < 2000 && asleep < 3; i++) {
		const int tid = atomic_load(&waiter->tid);

		poll(NULL, 0, 2);
		asleep = tid != 0 && thread_is_asleep(tid) ? asleep + 1 : 0;
	}
	assert_int_equal(asleep, 3);
}

static void set_handlers(int flags)
{
	const struct sigaction own = {.sa_handler = count_signal, .sa_flags = flags};
	const struct sigaction other = {.sa_handler = count_signal, .sa_flags = SA_RESTART ^ flags};

	assert_int_equal(sigaction(SIGUSR1, &own, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, &other, NULL), 0);
}

/* Signals come to the call in its sleep: three, or the one that ends the call. */
static void signal_call(unsigned index, int flags)
{
	struct station station;
	struct waiter waiter = {.station = &station, .call = calls[index].call};
	pthread_t thread;

	station_open(&station);
	set_handlers(flags);
	assert_int_equal(pthread_create(&thread, NULL, wait_in_call, &waiter), 0);
	for (unsigned i = 0; i < (flags != 0 ? 3 : 1); i++) {
		const unsigned before = signals;

		await_sleep_of(&waiter);
		assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
		for (unsigned ms = 0; ms < 5000 && signals == before; ms++)
			poll(NULL, 0, 1);
		assert_int_equal(signals, before + 1);
	}
	if (flags != 0) {
		await_sleep_of(&waiter);
		calls[index].end(&station);
	}
	pthread_join(thread, NULL);
	print_message("%s, %s: %d (%s)\n", calls[index].name, flags != 0 ? "SA_RESTART" : "none",
		      waiter.result, waiter.result < 0 ? strerror(waiter.error) : "done");
	if (flags != 0)
		assert_true(waiter.result >= 0);
	else
		assert_true(waiter.result == -1 && waiter.error == EINTR);
	station_close(&station);
}

static void a_call_goes_on_after_a_handler_that_restarts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT_OF(calls); i++)
		signal_call(i, SA_RESTART);
}

static void a_call_ends_after_a_handler_that_does_not(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT_OF(calls); i++)
		signal_call(i, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_goes_on_after_a_handler_that_restarts),
		cmocka_unit_test(a_call_ends_after_a_handler_that_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
