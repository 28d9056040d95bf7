/* SPDX-License-Identifier: MIT */
/* Channels of the connection manager: threads that wait there for events. */
#include "fake_session.h"

#include "native/rnic_cm_objects.h"
#include "unit_test.h"

#include <pthread.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancelled_while_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
