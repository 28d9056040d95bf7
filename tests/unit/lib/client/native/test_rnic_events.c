/* SPDX-License-Identifier: MIT */
/* Objects whose events are outstanding: threads that wait for the acknowledgement. */
#include "tests/unit/lib/client/native/fake_session.h"
#include "tests/unit/unit_test.h"

#include <pthread.h>

static const struct rnic_qp_capacities capacities = {
	.max_send_wr = 4,
	.max_recv_wr = 4,
	.max_send_sge = 1,
	.max_recv_sge = 1,
};

/* AddressSanitizer does not see that cancelling leaves this function. */
__attribute__((no_sanitize("address"))) static void *wait_when_cancelled(void *argument)
{
	struct rnic_cq *cq = argument;
	struct rnic_context *context = cq->context;

	pthread_cancel(pthread_self());
	pthread_mutex_lock(&context->objects_lock);
	rnic_event_count_wait(context, &cq->async_events);
	pthread_mutex_unlock(&context->objects_lock);
	return NULL;
}

/* The lock is for the other threads, and a late acknowledgement does no harm. */
static void test_cancelled_while_waiting(void **state)
{
	struct fake_session *fake = fake_session_create(&capacities, 4);
	struct rnic_cq *cq = &fake->cq;
	const struct rnic_async_event event = {.type = RNIC_EVENT_CQ_ERR, .cq = cq};
	pthread_t waiter;
	void *result;

	(void)state;
	cq->async_events.delivered = 1;
	assert_int_equal(pthread_create(&waiter, NULL, wait_when_cancelled, cq), 0);
	assert_int_equal(pthread_join(waiter, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(pthread_mutex_trylock(&fake->context.objects_lock), 0);
	pthread_mutex_unlock(&fake->context.objects_lock);

	rnic_ack_async_event(&event);
	assert_int_equal(cq->async_events.acknowledged, 1);
	fake_session_destroy(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancelled_while_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
