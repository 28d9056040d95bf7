/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/lane_table.h"

#include "tests/unit/unit_test.h"

static char text[PORT_TEXT_BYTES];

static uint8_t take_for(struct lane_table *table, uint32_t user)
{
	uint8_t lane;

	assert_int_equal(lane_table_choose(table, user, &lane, text), 0);
	assert_false(lane_table_is_used(table, lane));
	lane_table_take(table, user, lane);
	assert_true(lane_table_is_used(table, lane));
	return lane;
}

/* For a user of its own each time. */
static uint8_t take(struct lane_table *table)
{
	static uint32_t user = 1000;

	return take_for(table, user++);
}

static void test_all_lanes(void **state)
{
	struct lane_table table;
	uint8_t lane;

	(void)state;
	lane_table_init(&table, LANE_TABLE_LANES);
	assert_false(lane_table_is_used(&table, RNIC_LANE_FIRST));
	for (uint32_t i = 0; i < LANE_TABLE_LANES; i++)
		assert_int_equal(take(&table), RNIC_LANE_FIRST + i);
	assert_int_equal(lane_table_choose(&table, 7, &lane, text), -ENOSPC);
	assert_non_null(strstr(text, "no lane is left"));
	lane_table_give_back(&table, 0x93);
	assert_false(lane_table_is_used(&table, 0x93));
	assert_int_equal(take(&table), 0x93);
	assert_int_equal(lane_table_choose(&table, 7, &lane, text), -ENOSPC);
}

static void test_late_reuse(void **state)
{
	struct lane_table table;

	(void)state;
	lane_table_init(&table, 4);
	assert_int_equal(take(&table), 0x80);
	assert_int_equal(take(&table), 0x81);
	lane_table_give_back(&table, 0x81);
	lane_table_give_back(&table, 0x80);
	assert_int_equal(take(&table), 0x82);
	assert_int_equal(take(&table), 0x83);
	assert_int_equal(take(&table), 0x81);
	assert_int_equal(take(&table), 0x80);
}

/* A user who starts again and again rotates among some lanes, and leaves the others fresh. */
static void test_own_lanes(void **state)
{
	struct lane_table table;

	(void)state;
	lane_table_init(&table, LANE_TABLE_OWN + 2);
	for (uint32_t i = 0; i < 3 * LANE_TABLE_OWN; i++) {
		uint8_t lane = take_for(&table, 1);

		assert_int_equal(lane, RNIC_LANE_FIRST + i % LANE_TABLE_OWN);
		lane_table_give_back(&table, lane);
	}
	/* Others get fresh ones, and later their own ones before those of others. */
	assert_int_equal(take_for(&table, 2), RNIC_LANE_FIRST + LANE_TABLE_OWN);
	assert_int_equal(take_for(&table, 3), RNIC_LANE_FIRST + LANE_TABLE_OWN + 1);
	lane_table_give_back(&table, RNIC_LANE_FIRST + LANE_TABLE_OWN);
	assert_int_equal(take_for(&table, 2), RNIC_LANE_FIRST + LANE_TABLE_OWN);
	/* Nobody is refused as long as any lane is free. */
	assert_int_equal(take_for(&table, 4), RNIC_LANE_FIRST);
}

static void test_spoiled_lanes(void **state)
{
	struct lane_table table;
	uint8_t lane;

	(void)state;
	lane_table_init(&table, LANE_TABLE_OWN + 1);
	/* The user who spoils every lane gets spoiled ones after a few. */
	for (uint32_t i = 0; i < 3 * LANE_TABLE_OWN; i++) {
		lane = take_for(&table, 1);
		lane_table_spoil(&table, lane);
		assert_true(lane_table_is_spoiled(&table, lane));
		lane_table_give_back(&table, lane);
	}
	assert_int_equal(take_for(&table, 2), RNIC_LANE_FIRST + LANE_TABLE_OWN);
	/* No other user gets one, even when there is nothing else. */
	assert_int_equal(lane_table_choose(&table, 3, &lane, text), -ENOSPC);
	assert_non_null(strstr(text, "spoiled"));
	take_for(&table, 1);
}

static void test_no_lanes(void **state)
{
	struct lane_table table;
	uint8_t lane;

	(void)state;
	lane_table_init(&table, 0);
	assert_int_equal(lane_table_choose(&table, 7, &lane, text), -ENOSPC);
}

static void test_foreign_numbers(void **state)
{
	static const uint32_t numbers[] = {0, 1, 0x7f, 0x84, 0xff, 0x100, 0x180, UINT32_MAX};
	struct lane_table table;

	(void)state;
	lane_table_init(&table, 4);
	for (uint32_t i = 0; i < 4; i++)
		take(&table);
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		assert_false(lane_table_is_used(&table, numbers[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_lanes), cmocka_unit_test(test_late_reuse),
		cmocka_unit_test(test_own_lanes), cmocka_unit_test(test_spoiled_lanes),
		cmocka_unit_test(test_no_lanes),  cmocka_unit_test(test_foreign_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
