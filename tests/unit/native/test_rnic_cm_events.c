/* SPDX-License-Identifier: MIT */
/* Channels of the connection manager: threads that wait there for events. */
#include "fake_session.h"

#include "native/rnic_cm_objects.h"
#include "unit_test.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
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
	struct rnic_cm_channel channel = {.context = &fake->context, .references = 1};
	pthread_t waiter;
	void *result;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
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

/* The daemon's part: refuses the one request that comes, because it has no such channel. */
static void refuse_one(int fd)
{
	struct {
		struct rnic_ctl_header header;
		struct rnic_ctl_refusal refusal;
	} reply = {.refusal.reason = "no such event channel"};
	uint8_t request[RNIC_CTL_MESSAGE_BYTES];

	assert_true(recv(fd, request, sizeof(request), 0) >= (ssize_t)sizeof(reply.header));
	memcpy(&reply.header, request, sizeof(reply.header));
	assert_int_equal(reply.header.operation, RNIC_CTL_CM_GET_EVENT);
	reply.header.status = -EINVAL;
	reply.header.bytes = sizeof(reply);
	assert_int_equal(send(fd, &reply, sizeof(reply), 0), sizeof(reply));
}

/*
 * A channel is destroyed between the record of an event and the request for the event, as when
 * rping ends. The thread goes on waiting, as with a kernel's channel.
 */
static void test_destroyed_before_the_event_is_fetched(void **state)
{
	static const struct rnic_event_record record;
	struct fake_session *fake = fake_session_create(&capacities, 4);
	struct rnic_cm_channel channel = {
		.context = &fake->context,
		.fetching = PTHREAD_MUTEX_INITIALIZER,
		.references = 2,
	};
	int sockets[2], ends[2];
	pthread_t waiter;
	void *result;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
	fake->context.link.fd = sockets[0];
	fake->context.link.version = RNIC_CTL_VERSION_MAX;
	assert_int_equal(pipe(ends), 0);
	channel.fd = ends[0];
	channel.is_destroyed = true;
	assert_int_equal(write(ends[1], &record, sizeof(record)), sizeof(record));
	close(ends[1]);
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_event, &channel), 0);
	refuse_one(sockets[1]);
	assert_int_equal(pthread_join(waiter, &result), 0);
	assert_ptr_equal(result, &parked);
	assert_int_equal(channel.references, 2);
	close(ends[0]);
	close(sockets[1]);
	fake_session_destroy(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancelled_while_waiting),
		cmocka_unit_test(test_destroyed_before_the_event_is_fetched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
