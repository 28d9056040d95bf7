/* SPDX-License-Identifier: MIT */
#include "proto/base/lane.h"
#include "tests/unit/unit_test.h"

static void test_lanes(void **state)
{
	(void)state;
	assert_int_equal(rnic_lane_of(0), RNIC_LANE_ZERO);
	assert_int_equal(rnic_lane_of(1), RNIC_LANE_ZERO);
	assert_int_equal(rnic_lane_of(0x7fffff), RNIC_LANE_ZERO);
	assert_int_equal(rnic_lane_of(0x800000), RNIC_LANE_FIRST);
	assert_int_equal(rnic_lane_of(0xfeffff), RNIC_LANE_LAST);
	assert_true(rnic_lane_of(0xffffff) > RNIC_LANE_LAST);
	assert_true(rnic_lane_has(RNIC_LANE_NONE, 0x123456));
	assert_true(rnic_lane_has(RNIC_LANE_ZERO, 0x123456));
	assert_false(rnic_lane_has(RNIC_LANE_ZERO, 0x923456));
	assert_true(rnic_lane_has(0x92, 0x923456));
	assert_false(rnic_lane_has(0x92, 0x933456));
}

static void test_send_sockets(void **state)
{
	(void)state;
	assert_int_equal(rnic_lane_send_socket(1), 0);
	assert_int_equal(rnic_lane_send_socket(0x7fffff), 0);
	assert_int_equal(rnic_lane_send_socket(0x801234), 0);
	assert_int_equal(rnic_lane_send_socket(0x851234), 5);
	assert_int_equal(rnic_lane_send_socket(0x8d1234), 5);
	assert_int_equal(rnic_lane_send_socket(0xffffff), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_send_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
