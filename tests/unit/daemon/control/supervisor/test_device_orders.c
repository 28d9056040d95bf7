/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/control/supervisor/device_fixture.h"

#include "daemon/control/supervisor/device_orders.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>

static const struct rnic_process_order qp_error = {
	.condition = RNIC_CONDITION_QP_ERROR,
	.client_id = 3,
	.number = 0x812345,
};

static char reason[RNIC_CTL_TEXT_BYTES];

/* Answers the order that has come, or with another number of it. */
static void answer(int32_t status, const char *text, uint32_t further)
{
	const struct rnic_process_order *order = fixture_expect(RNIC_PROCESS_ORDER);
	struct rnic_process_order_reply reply = {
		.request_id = order->request_id + further,
		.status = status,
	};

	assert_int_equal(order->number, qp_error.number);
	snprintf(reply.reason, sizeof(reply.reason), "%s", text);
	fixture_say(RNIC_PROCESS_ORDER_REPLY, &reply, sizeof(reply));
	fixture_turn(0);
}

static void test_answers(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);
	uint32_t request_id = 0;

	(void)state;
	assert_int_equal(device_orders_give(process, &qp_error, &request_id, reason), -EINPROGRESS);
	assert_int_equal(device_orders_give(process, &qp_error, &request_id, reason), -EINPROGRESS);
	answer(-ENOENT, "there\nis none", 0);
	assert_true(device_set_take_news(&fixture->set));
	assert_int_equal(device_orders_give(process, &qp_error, &request_id, reason), -ENOENT);
	assert_string_equal(reason, "there?is none");
	request_id = 0;
	assert_int_equal(device_orders_give(process, &qp_error, &request_id, reason), -EINPROGRESS);
	answer(0, "", 0);
	assert_int_equal(device_orders_give(process, &qp_error, &request_id, reason), 0);
}

/* The second asker waits for the slot, and the first one's silence ends after a second. */
static void test_silence(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);
	uint32_t first = 0, second = 0;

	(void)state;
	assert_int_equal(device_orders_give(process, &qp_error, &first, reason), -EINPROGRESS);
	assert_int_equal(device_orders_give(process, &qp_error, &second, reason), -EINPROGRESS);
	assert_int_equal(second, 0);
	assert_true(device_set_next_deadline_ns(&fixture->set) <= fixture->now_ns + FIXTURE_SECOND);
	fixture_turn(FIXTURE_SECOND);
	assert_true(device_set_take_news(&fixture->set));
	assert_int_equal(device_orders_give(process, &qp_error, &first, reason), -ETIMEDOUT);
	assert_int_equal(device_orders_give(process, &qp_error, &second, reason), -EINPROGRESS);
	assert_int_not_equal(second, 0);
	/* The late answer is not the second one's. */
	answer(-EINVAL, "late", 0);
	assert_int_equal(device_orders_give(process, &qp_error, &second, reason), -EINPROGRESS);
	answer(0, "", 0);
	assert_int_equal(device_orders_give(process, &qp_error, &second, reason), 0);
}

static void test_strange_answers(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);
	uint32_t request_id = 0;

	(void)state;
	assert_int_equal(device_orders_give(process, &qp_error, &request_id, reason), -EINPROGRESS);
	answer(0, "", 1);
	assert_int_not_equal(process->state, DEVICE_CHILD_SERVING);
	assert_int_equal(device_orders_give(process, &qp_error, &request_id, reason), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, device_fixture_open,
						device_fixture_close),
		cmocka_unit_test_setup_teardown(test_silence, device_fixture_open,
						device_fixture_close),
		cmocka_unit_test_setup_teardown(test_strange_answers, device_fixture_open,
						device_fixture_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
