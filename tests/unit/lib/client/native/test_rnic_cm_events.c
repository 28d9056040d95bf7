/* SPDX-License-Identifier: MIT */
/* Channels of the connection manager: threads that wait there for events. */
#include "tests/unit/lib/client/native/fake_session.h"

#include "lib/client/native/drop_in_calls.h"
#include "lib/client/native/cm/rnic_cm_objects.h"
#include "proto/base/time_units.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const struct rnic_qp_capacities capacities = {
	.max_send_wr = 4,
	.max_recv_wr = 4,
	.max_send_sge = 1,
	.max_recv_sge = 1,
};

/* AddressSanitizer does not see that cancelling leaves this function. */
__attribute__((no_sanitize("address"))) static void *wait_when_cancelled(void *channel)
{
	struct rnic_cm_event event;

	pthread_cancel(pthread_self());
	rnic_cm_get_event(channel, &event);
	return NULL;
}

/* As rping ends the thread that takes its events: the channel can still be destroyed. */
static void test_cancelled_while_waiting(void **state)
{
	struct fake_session *fake = fake_session_create(&capacities, 4);
	struct rnic_cm_channel channel = {
		.context = &fake->context,
		.taking = PTHREAD_MUTEX_INITIALIZER,
		.references = 1,
	};
	pthread_t waiter;
	void *result;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	channel.fd = ends[0];
	assert_int_equal(pthread_create(&waiter, NULL, wait_when_cancelled, &channel), 0);
	assert_int_equal(pthread_join(waiter, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(channel.references, 1);
	close(ends[0]);
	close(ends[1]);
	fake_session_destroy(fake);
}

static const char parked; /* the result of a thread that goes on waiting */

/* The linker puts this function before pause(). */
int __wrap_pause(void);

/* AddressSanitizer does not see that ending the thread leaves this function. */
__attribute__((no_sanitize("address"))) int __wrap_pause(void)
{
	pthread_exit((void *)&parked);
}

__attribute__((no_sanitize("address"))) static void *wait_for_event(void *channel)
{
	struct rnic_cm_event event;

	rnic_cm_get_event(channel, &event);
	return NULL;
}

/*
 * A channel is destroyed while a thread waits there, as when rping ends. The thread goes on
 * waiting, as with a kernel's channel.
 */
static void test_destroyed_while_waiting(void **state)
{
	struct fake_session *fake = fake_session_create(&capacities, 4);
	struct rnic_cm_channel channel = {
		.context = &fake->context,
		.taking = PTHREAD_MUTEX_INITIALIZER,
		.references = 2,
		.is_destroyed = true,
	};
	pthread_t waiter;
	void *result;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	channel.fd = ends[0];
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_event, &channel), 0);
	close(ends[1]);
	assert_int_equal(pthread_join(waiter, &result), 0);
	assert_ptr_equal(result, &parked);
	assert_int_equal(channel.references, 2);
	close(ends[0]);
	fake_session_destroy(fake);
}

/* ---- a channel, and a daemon that grants each request ---- */

#define FIRST_SLOT  5
#define SECOND_SLOT 9

struct bench {
	struct fake_session *fake;
	struct rnic_cm_channel channel, other;
	struct rnic_cm_id *first, *second;
	int events[2]; /* of `channel`: the client's end, the daemon's */
	int other_events[2];
	int control[2]; /* likewise */
	pthread_t daemon;
	uint32_t operations[RNIC_CTL_OPERATION_COUNT]; /* how often each was asked for */
	uint32_t taken;				       /* as the last request with a count said */
	uint32_t refusals;			       /* of the next requests */
};

static void *grant_requests(void *context)
{
	struct bench *bench = context;
	uint8_t request[RNIC_CTL_MESSAGE_BYTES];
	struct {
		struct rnic_ctl_header header;
		struct rnic_ctl_refusal refusal;
	} reply = {.refusal.reason = "no memory"};

	while (recv(bench->control[1], request, sizeof(request), 0) >=
	       (ssize_t)sizeof(reply.header)) {
		const bool is_refused = bench->refusals > 0;

		memcpy(&reply.header, request, sizeof(reply.header));
		bench->operations[reply.header.operation]++;
		memcpy(&bench->taken,
		       request + sizeof(reply.header) +
			       (reply.header.operation == RNIC_CTL_CM_MIGRATE
					? offsetof(struct rnic_ctl_cm_migrate, taken)
					: offsetof(struct rnic_ctl_cm_destroy_id, taken)),
		       sizeof(bench->taken));
		bench->refusals -= is_refused;
		reply.header.status = is_refused ? -ENOMEM : 0;
		reply.header.bytes = is_refused ? sizeof(reply) : sizeof(reply.header);
		assert_int_equal(send(bench->control[1], &reply, reply.header.bytes, 0),
				 reply.header.bytes);
	}
	return NULL;
}

static struct rnic_cm_id *adopt(struct bench *bench, uint32_t slot)
{
	const struct rnic_handle handle = {.slot = slot, .generation = 1};
	struct rnic_cm_id *id;

	assert_int_equal(rnic_cm_adopt_id(&bench->channel, handle, NULL, &id), 0);
	return id;
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->fake = fake_session_create(&capacities, 4);
	pthread_mutex_init(&bench->fake->context.objects_lock, NULL);
	bench->fake->context.references = 1;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bench->events), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bench->other_events), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bench->control), 0);
	bench->fake->context.control.fd = bench->control[0];
	bench->fake->context.control.version = RNIC_CTL_VERSION_MAX;
	bench->channel = (struct rnic_cm_channel){
		.context = &bench->fake->context,
		.taking = PTHREAD_MUTEX_INITIALIZER,
		.references = 1,
		.fd = bench->events[0],
	};
	bench->other = bench->channel;
	bench->other.fd = bench->other_events[0];
	bench->first = adopt(bench, FIRST_SLOT);
	bench->second = adopt(bench, SECOND_SLOT);
	assert_int_equal(pthread_create(&bench->daemon, NULL, grant_requests, bench), 0);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	if (bench->first != NULL)
		assert_int_equal(rnic_cm_destroy_id(bench->first), 0);
	if (bench->second != NULL)
		assert_int_equal(rnic_cm_destroy_id(bench->second), 0);
	shutdown(bench->control[0], SHUT_RDWR);
	assert_int_equal(pthread_join(bench->daemon, NULL), 0);
	close(bench->control[1]);
	close(bench->events[0]);
	close(bench->events[1]);
	close(bench->other_events[0]);
	close(bench->other_events[1]);
	free(bench->fake->context.cm_ids);
	fake_session_destroy(bench->fake);
	free(bench);
	return 0;
}

static void tell(struct bench *bench, uint32_t type, uint32_t slot, uint32_t is_last)
{
	const struct rnic_ctl_cm_event event = {
		.type = type,
		.id = {.slot = slot, .generation = 1},
		.attributes = {.dest_qpn = 17},
		.mask = type == RNIC_CM_CONNECT_RESPONSE ? RNIC_QP_ATTR_STATE : 0,
		.is_last = is_last,
	};

	assert_int_equal(send(bench->events[1], &event, sizeof(event), 0), sizeof(event));
}

/* --- the clock, which yields and sleeps move -------------------------------------------------- */

#define YIELD_NS UINT64_C(1000)

static _Atomic uint64_t now_ns = RNIC_NS_PER_SECOND;
static struct bench *told_at_yield; /* gets an event during the next yield; NULL: none does */
static int yields;
static struct poller *poller; /* takes events while another thread sleeps; NULL: nobody does */

/* Instead of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	const uint64_t time_ns = atomic_load(&now_ns);

	(void)clock;
	*now = (struct timespec){.tv_sec = (time_t)(time_ns / RNIC_NS_PER_SECOND),
				 .tv_nsec = (long)(time_ns % RNIC_NS_PER_SECOND)};
	return 0;
}

int sched_yield(void)
{
	struct bench *bench = told_at_yield;

	yields++;
	atomic_fetch_add(&now_ns, YIELD_NS);
	told_at_yield = NULL;
	if (bench != NULL)
		tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 0);
	return 0;
}

static void expect_event(struct bench *bench, struct rnic_cm_id *id, uint32_t type)
{
	struct rnic_cm_event event;

	assert_int_equal(rnic_cm_get_event(&bench->channel, &event), 0);
	assert_ptr_equal(event.id, id);
	assert_int_equal(event.type, type);
	rnic_cm_ack_event(&event);
}

/* Whether a program that polls the channel would see an event. */
static bool looks_ready(const struct bench *bench)
{
	uint8_t byte;

	return recv(bench->events[0], &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* A program that waits meets the event awake. A non-blocking channel returns at once. */
static void test_waits_are_awake_at_first(void **state)
{
	const struct timeval limit = {.tv_sec = 2}; /* of a wait that would not end */
	struct bench *bench = *state;
	struct rnic_cm_event event;

	assert_int_equal(
		setsockopt(bench->events[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	yields = 0;
	told_at_yield = bench;
	expect_event(bench, bench->first, RNIC_CM_ADDR_RESOLVED);
	assert_int_equal(yields, 1);
	assert_int_equal(fcntl(bench->events[0], F_SETFL, O_RDWR | O_NONBLOCK), 0);
	assert_int_equal(rnic_cm_get_event(&bench->channel, &event), -EAGAIN);
	assert_int_equal(yields, 1);
}

/* Taking an event needs no request. */
static void test_events_are_taken_from_the_socket(void **state)
{
	struct bench *bench = *state;

	tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 0);
	tell(bench, RNIC_CM_ADDR_RESOLVED, SECOND_SLOT, 0);
	expect_event(bench, bench->first, RNIC_CM_ADDR_RESOLVED);
	expect_event(bench, bench->second, RNIC_CM_ADDR_RESOLVED);
	assert_false(looks_ready(bench));
	assert_int_equal(bench->operations[RNIC_CTL_CM_SEND_EVENTS], 0);
}

static void test_the_last_event_asks_for_others(void **state)
{
	struct bench *bench = *state;

	tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 0);
	tell(bench, RNIC_CM_ROUTE_RESOLVED, FIRST_SLOT, 1);
	expect_event(bench, bench->first, RNIC_CM_ADDR_RESOLVED);
	assert_int_equal(bench->operations[RNIC_CTL_CM_SEND_EVENTS], 0);
	expect_event(bench, bench->first, RNIC_CM_ROUTE_RESOLVED);
	assert_int_equal(bench->operations[RNIC_CTL_CM_SEND_EVENTS], 1);
	assert_int_equal(bench->taken, 2);
}

static void test_events_of_a_destroyed_identifier_are_void(void **state)
{
	struct bench *bench = *state;

	tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 0);
	tell(bench, RNIC_CM_ADDR_RESOLVED, SECOND_SLOT, 0);
	tell(bench, RNIC_CM_ROUTE_RESOLVED, FIRST_SLOT, 1);
	assert_int_equal(rnic_cm_destroy_id(bench->first), 0);
	bench->first = NULL;
	expect_event(bench, bench->second, RNIC_CM_ADDR_RESOLVED);
	assert_false(looks_ready(bench));
	/* Also a void event asks for others. */
	assert_int_equal(bench->operations[RNIC_CTL_CM_SEND_EVENTS], 1);
	assert_int_equal(bench->taken, 3);
}

/* Who ends an identifier may be the one who has its event. The daemon hears of the end once. */
static void test_ending_waits_for_no_event(void **state)
{
	struct bench *bench = *state;
	struct rnic_cm_event event;

	tell(bench, RNIC_CM_ADDR_ERROR, FIRST_SLOT, 0);
	tell(bench, RNIC_CM_ADDR_ERROR, FIRST_SLOT, 0);
	assert_int_equal(rnic_cm_get_event(&bench->channel, &event), 0);
	assert_int_equal(rnic_cm_end_id(bench->first), 0);
	assert_false(looks_ready(bench));
	assert_true(rnic_cm_has_open_events(bench->first));
	rnic_cm_ack_event(&event);
	assert_false(rnic_cm_has_open_events(bench->first));
	assert_int_equal(rnic_cm_end_id(bench->first), 0);
	assert_int_equal(rnic_cm_destroy_id(bench->first), 0);
	bench->first = NULL;
	assert_int_equal(bench->operations[RNIC_CTL_CM_DESTROY_ID], 1);
}

/* A request for more that fails is made again. */
static void test_asking_for_others_again(void **state)
{
	struct bench *bench = *state;

	bench->refusals = 1;
	tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 1);
	expect_event(bench, bench->first, RNIC_CM_ADDR_RESOLVED);
	tell(bench, RNIC_CM_ROUTE_RESOLVED, FIRST_SLOT, 0);
	expect_event(bench, bench->first, RNIC_CM_ROUTE_RESOLVED);
	assert_int_equal(bench->operations[RNIC_CTL_CM_SEND_EVENTS], 2);
}

/* After fork() the child has the parent's socket, and must leave the events in there. */
static void test_a_lost_link_drops_no_event(void **state)
{
	struct bench *bench = *state;

	tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 0);
	tell(bench, RNIC_CM_ADDR_RESOLVED, SECOND_SLOT, 0);
	atomic_store(&bench->fake->context.control.lost, -ENODEV);
	pthread_mutex_lock(&bench->channel.taking);
	assert_int_equal(rnic_cm_destroy_id(bench->first), 0);
	bench->first = NULL;
	assert_int_equal(rnic_cm_migrate(bench->second, &bench->other), -ENODEV);
	pthread_mutex_unlock(&bench->channel.taking);
	atomic_store(&bench->fake->context.control.lost, 0);
	assert_true(looks_ready(bench));
	expect_event(bench, bench->second, RNIC_CM_ADDR_RESOLVED);
	assert_int_equal(bench->taken, 0);
}

/* What the identifier reported here before comes again on its new channel. */
static void test_events_of_a_moved_identifier_are_void(void **state)
{
	struct bench *bench = *state;

	tell(bench, RNIC_CM_ADDR_RESOLVED, SECOND_SLOT, 0);
	expect_event(bench, bench->second, RNIC_CM_ADDR_RESOLVED);
	tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 0);
	assert_int_equal(rnic_cm_migrate(bench->first, &bench->other), 0);
	assert_int_equal(bench->taken, 1);
	assert_false(looks_ready(bench));
	assert_ptr_equal(bench->first->channel, &bench->other);
}

/* An event from before the identifier left and came back was sent again. */
static void test_events_from_before_a_move_are_void(void **state)
{
	struct bench *bench = *state;

	tell(bench, RNIC_CM_ADDR_RESOLVED, SECOND_SLOT, 0);
	tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 0);
	assert_int_equal(rnic_cm_migrate(bench->first, &bench->other), 0);
	assert_int_equal(rnic_cm_migrate(bench->first, &bench->channel), 0);
	assert_int_equal(rnic_cm_migrate(bench->first, &bench->channel), 0);
	assert_int_equal(bench->operations[RNIC_CTL_CM_MIGRATE], 2);
	expect_event(bench, bench->second, RNIC_CM_ADDR_RESOLVED);
	assert_false(looks_ready(bench));
}

/* An event that tells the attributes of the queue pair saves a request, until an option changes. */
static void test_attributes_come_with_the_event(void **state)
{
	struct bench *bench = *state;
	struct rnic_qp_attributes attributes;
	uint32_t receive_mask, send_mask;

	tell(bench, RNIC_CM_CONNECT_RESPONSE, FIRST_SLOT, 0);
	expect_event(bench, bench->first, RNIC_CM_CONNECT_RESPONSE);
	assert_int_equal(
		rnic_cm_connection_attributes(bench->first, &attributes, &receive_mask, &send_mask),
		0);
	assert_int_equal(attributes.dest_qpn, 17);
	assert_int_equal(receive_mask, RNIC_QP_ATTR_STATE);
	assert_int_equal(bench->operations[RNIC_CTL_CM_QP_ATTRIBUTES], 0);
	assert_int_equal(rnic_cm_set_option(bench->first, RNIC_CM_OPTION_TOS, 4), 0);
	assert_int_equal(bench->first->attributes_mask, 0);
	/* That event was perhaps made before. */
	tell(bench, RNIC_CM_CONNECT_RESPONSE, FIRST_SLOT, 0);
	expect_event(bench, bench->first, RNIC_CM_CONNECT_RESPONSE);
	assert_int_equal(bench->first->attributes_mask, 0);
}

/* --- events that were announced, and are taken back ------------------------------------------ */

static void set_limit(const struct bench *bench)
{
	const struct timeval limit = {.tv_usec = 300000}; /* of a wait that would not end */

	assert_int_equal(
		setsockopt(bench->events[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
}

static void end_first(struct bench *bench)
{
	rnic_cm_let_take(bench->first);
	assert_int_equal(rnic_cm_destroy_id(bench->first), 0);
	bench->first = NULL;
}

/* A program that polls saw an event, which its identifier then took along. It must not sleep. */
static void test_a_taken_back_event_is_answered(void **state)
{
	struct bench *bench = *state;
	struct rnic_cm_event event;

	set_limit(bench);
	tell(bench, RNIC_CM_ADDR_RESOLVED, SECOND_SLOT, 0);
	expect_event(bench, bench->second, RNIC_CM_ADDR_RESOLVED);
	tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 0);
	assert_true(looks_ready(bench));
	end_first(bench);
	assert_false(looks_ready(bench));
	yields = 0;
	assert_int_equal(rnic_cm_get_event(&bench->channel, &event), -EAGAIN);
	assert_int_equal(yields, 0);
	/* Once: a program that comes again wants to wait. */
	told_at_yield = NULL;
	assert_int_equal(rnic_cm_get_event(&bench->channel, &event), -EAGAIN); /* the limit */
	assert_int_not_equal(yields, 0);
}

/* An event that comes behind the taken-back one is what the program comes for. */
static void test_a_later_event_is_taken(void **state)
{
	struct bench *bench = *state;
	struct rnic_cm_event event;

	tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 0);
	end_first(bench);
	tell(bench, RNIC_CM_ADDR_RESOLVED, SECOND_SLOT, 0);
	expect_event(bench, bench->second, RNIC_CM_ADDR_RESOLVED);
	assert_false(rnic_cm_took_back(&bench->channel));
	tell(bench, RNIC_CM_ROUTE_RESOLVED, SECOND_SLOT, 0);
	assert_int_equal(rnic_cm_migrate(bench->second, &bench->other), 0);
	set_limit(bench);
	assert_int_equal(rnic_cm_get_event(&bench->channel, &event), -EAGAIN);
}

/* A program that has slept here does not poll: it goes on waiting. */
static void test_a_program_that_waits_goes_on(void **state)
{
	struct bench *bench = *state;
	struct rnic_cm_event event;

	set_limit(bench);
	yields = 0;
	told_at_yield = bench;
	expect_event(bench, bench->first, RNIC_CM_ADDR_RESOLVED);
	tell(bench, RNIC_CM_ROUTE_RESOLVED, FIRST_SLOT, 0);
	end_first(bench);
	assert_int_equal(rnic_cm_get_event(&bench->channel, &event), -EAGAIN); /* the limit */
	assert_true(yields > 1);
}

#define LATE_NS	 (5 * RNIC_NS_PER_MS)
#define NEVER_NS UINT64_MAX

struct poller {
	struct bench *bench;
	uint64_t comes_ns; /* when the thread takes its second event */
	uint32_t taken;
	bool was_let;
	sem_t comes, is_done;
};

/* As rping of rdma-core 65 does: takes an event, then another one some time after it was there. */
static void *poll_and_take(void *context)
{
	struct poller *self = context;
	struct rnic_cm_event event;

	for (uint32_t i = 0; i < 2; i++) {
		sem_wait(&self->comes);
		if (rnic_cm_get_event(&self->bench->channel, &event) == 0) {
			self->taken++;
			rnic_cm_ack_event(&event);
		}
		sem_post(&self->is_done);
	}
	return NULL;
}

/* Lets the other thread ask for an event, and waits until that was answered. */
static void let_poll(struct poller *other)
{
	sem_post(&other->comes);
	sem_wait(&other->is_done);
}

/* Instead of the C library's. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	atomic_fetch_add(&now_ns,
			 (uint64_t)time->tv_sec * RNIC_NS_PER_SECOND + (uint64_t)time->tv_nsec);
	if (poller != NULL && !poller->was_let && atomic_load(&now_ns) >= poller->comes_ns) {
		poller->was_let = true;
		let_poll(poller);
	}
	return 0;
}

/* Returns how many events the other thread took. */
static uint32_t poll_meanwhile(struct bench *bench, uint64_t late_ns)
{
	struct poller other = {.bench = bench};
	pthread_t thread;

	set_limit(bench);
	assert_int_equal(sem_init(&other.comes, 0, 0), 0);
	assert_int_equal(sem_init(&other.is_done, 0, 0), 0);
	tell(bench, RNIC_CM_ADDR_RESOLVED, FIRST_SLOT, 0);
	assert_int_equal(pthread_create(&thread, NULL, poll_and_take, &other), 0);
	let_poll(&other);
	tell(bench, RNIC_CM_ROUTE_RESOLVED, FIRST_SLOT, 0);
	other.comes_ns = late_ns == NEVER_NS ? NEVER_NS : atomic_load(&now_ns) + late_ns;
	poller = &other;
	end_first(bench);
	poller = NULL;
	if (!other.was_let)
		let_poll(&other);
	assert_int_equal(pthread_join(thread, NULL), 0);
	sem_destroy(&other.comes);
	sem_destroy(&other.is_done);
	return other.taken;
}

static void test_another_thread_takes_first(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(poll_meanwhile(bench, LATE_NS), 2);
	assert_int_equal(bench->channel.waives_until_ns, 0);
}

/* One that does not come is not waited for, and not waited for again soon. */
static void test_a_late_thread_is_answered(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(poll_meanwhile(bench, NEVER_NS), 1);
	assert_true(bench->channel.waives_until_ns > atomic_load(&now_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancelled_while_waiting),
		cmocka_unit_test(test_destroyed_while_waiting),
		cmocka_unit_test_setup_teardown(test_waits_are_awake_at_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_events_are_taken_from_the_socket, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_last_event_asks_for_others, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_events_of_a_destroyed_identifier_are_void,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ending_waits_for_no_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_asking_for_others_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_lost_link_drops_no_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_events_of_a_moved_identifier_are_void, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_events_from_before_a_move_are_void, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_attributes_come_with_the_event, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_taken_back_event_is_answered, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_later_event_is_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_program_that_waits_goes_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_another_thread_takes_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_late_thread_is_answered, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
