/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/lane_table.h"

#include "tests/unit/unit_test.h"

#define RESERVE 7 /* of all lanes */

static char text[PORT_TEXT_BYTES];

static const struct lane_user root = {.account = 0, .is_owner = true};

static int choose_for(const struct lane_table *table, uint32_t account, uint8_t *lane)
{
	const struct lane_user user = {.account = account};

	return lane_table_choose(table, &user, lane, text);
}

static uint8_t take_as(struct lane_table *table, const struct lane_user *user)
{
	uint8_t lane;

	assert_int_equal(lane_table_choose(table, user, &lane, text), 0);
	assert_false(lane_table_is_used(table, lane));
	lane_table_take(table, user, lane);
	assert_true(lane_table_is_used(table, lane));
	return lane;
}

static uint8_t take_for(struct lane_table *table, uint32_t account)
{
	const struct lane_user user = {.account = account};

	return take_as(table, &user);
}

static uint32_t next_user = 1000;

/* For a user of its own each time. */
static uint8_t take(struct lane_table *table)
{
	return take_for(table, next_user++);
}

/* The same for users from whom nothing is kept. */
static uint8_t take_freely(struct lane_table *table)
{
	const struct lane_user user = {.account = next_user++, .is_owner = true};

	return take_as(table, &user);
}

static void test_all_lanes(void **state)
{
	struct lane_table table;
	uint8_t lane;

	(void)state;
	lane_table_init(&table, LANE_TABLE_LANES);
	assert_int_equal(lane_table_kept(&table), RESERVE);
	assert_false(lane_table_is_used(&table, RNIC_LANE_FIRST));
	for (uint32_t i = 0; i < LANE_TABLE_LANES - RESERVE; i++)
		assert_int_equal(take(&table), RNIC_LANE_FIRST + i);
	assert_int_equal(choose_for(&table, 7, &lane), -ENOSPC);
	assert_non_null(strstr(text, "no lane is left"));
	assert_non_null(strstr(text, "kept for root"));
	/* Root gets in, as the daemon's user does, until all lanes are used. */
	for (uint32_t i = 0; i < RESERVE; i++)
		take_as(&table, &root);
	assert_int_equal(lane_table_choose(&table, &root, &lane, text), -ENOSPC);
	assert_null(strstr(text, "kept for root"));
	assert_int_equal(lane_table_kept(&table), 0);
	lane_table_give_back(&table, RNIC_LANE_LAST);
	assert_int_equal(lane_table_kept(&table), 1);
	assert_int_equal(choose_for(&table, 7, &lane), -ENOSPC);
	take_as(&table, &root);
	lane_table_give_back(&table, 0x93);
	assert_false(lane_table_is_used(&table, 0x93));
	assert_int_equal(take(&table), 0x93);
	assert_int_equal(choose_for(&table, 7, &lane), -ENOSPC);
}

/* A person with many user ids takes half of what others leave, and then others get in. */
static void test_many_ids_of_one_person(void **state)
{
	struct lane_table table;
	uint32_t taken[2] = {0};
	uint8_t lane;

	(void)state;
	lane_table_init(&table, LANE_TABLE_LANES);
	for (uint32_t person = 0; person < 2; person++)
		while (choose_for(&table, person + 1, &lane) == 0) {
			take_for(&table, person + 1);
			taken[person]++;
		}
	assert_int_equal(taken[0], (LANE_TABLE_LANES - RESERVE) / 2);
	assert_int_equal(taken[1], (LANE_TABLE_LANES - RESERVE) / 4);
	assert_non_null(strstr(text, "or for users without one"));
	for (uint32_t i = 0; i < (LANE_TABLE_LANES - RESERVE) / 4; i++)
		take(&table);
	assert_int_equal(choose_for(&table, 7, &lane), -ENOSPC);
	take_as(&table, &root);
}

static void test_few_lanes(void **state)
{
	struct lane_table table;
	uint8_t lane;

	(void)state;
	lane_table_init(&table, 2);
	assert_int_equal(lane_table_kept(&table), 1);
	take(&table);
	assert_int_equal(choose_for(&table, 7, &lane), -ENOSPC);
	take_as(&table, &root);
	/* The only lane is that of the daemon's user, whoever this is. */
	lane_table_init(&table, 1);
	assert_int_equal(lane_table_kept(&table), 0);
	take(&table);
}

static void test_late_reuse(void **state)
{
	struct lane_table table;

	(void)state;
	lane_table_init(&table, 4);
	assert_int_equal(take_freely(&table), 0x80);
	assert_int_equal(take_freely(&table), 0x81);
	lane_table_give_back(&table, 0x81);
	lane_table_give_back(&table, 0x80);
	assert_int_equal(take_freely(&table), 0x82);
	assert_int_equal(take_freely(&table), 0x83);
	assert_int_equal(take_freely(&table), 0x81);
	assert_int_equal(take_freely(&table), 0x80);
}

/* A user who starts again and again rotates among some lanes, and leaves the others fresh. */
static void test_own_lanes(void **state)
{
	struct lane_table table;

	(void)state;
	lane_table_init(&table, LANE_TABLE_OWN + 3);
	for (uint32_t i = 0; i < 3 * LANE_TABLE_OWN; i++) {
		uint8_t lane = take_for(&table, 1);

		assert_int_equal(lane, RNIC_LANE_FIRST + i % LANE_TABLE_OWN);
		lane_table_give_back(&table, lane);
	}
	/* Others get fresh ones, and later their own ones before those of others. */
	assert_int_equal(take_for(&table, 2), RNIC_LANE_FIRST + LANE_TABLE_OWN);
	assert_int_equal(take_for(&table, 3), RNIC_LANE_FIRST + LANE_TABLE_OWN + 1);
	take_as(&table, &root);
	lane_table_give_back(&table, RNIC_LANE_FIRST + LANE_TABLE_OWN);
	assert_int_equal(take_for(&table, 2), RNIC_LANE_FIRST + LANE_TABLE_OWN);
	/* Nobody is refused as long as a lane is free that is not kept. */
	assert_int_equal(take_for(&table, 4), RNIC_LANE_FIRST);
}

static void test_spoiled_lanes(void **state)
{
	struct lane_table table;
	uint8_t lane;

	(void)state;
	lane_table_init(&table, LANE_TABLE_OWN + 2);
	/* The user who spoils every lane gets spoiled ones after a few. */
	for (uint32_t i = 0; i < 3 * LANE_TABLE_OWN; i++) {
		lane = take_for(&table, 1);
		lane_table_spoil(&table, lane);
		assert_true(lane_table_is_spoiled(&table, lane));
		lane_table_give_back(&table, lane);
	}
	assert_int_equal(take_for(&table, 2), RNIC_LANE_FIRST + LANE_TABLE_OWN);
	/* No other user gets one, even when there is nothing else. */
	assert_int_equal(choose_for(&table, 3, &lane), -ENOSPC);
	assert_non_null(strstr(text, "spoiled"));
	take_for(&table, 1);
}

static void test_no_lanes(void **state)
{
	struct lane_table table;
	uint8_t lane;

	(void)state;
	lane_table_init(&table, 0);
	assert_int_equal(choose_for(&table, 7, &lane), -ENOSPC);
}

static void test_foreign_numbers(void **state)
{
	static const uint32_t numbers[] = {0, 1, 0x7f, 0x84, 0xff, 0x100, 0x180, UINT32_MAX};
	struct lane_table table;

	(void)state;
	lane_table_init(&table, 4);
	for (uint32_t i = 0; i < 4; i++)
		take_freely(&table);
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		assert_false(lane_table_is_used(&table, numbers[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_lanes), cmocka_unit_test(test_many_ids_of_one_person),
		cmocka_unit_test(test_few_lanes), cmocka_unit_test(test_late_reuse),
		cmocka_unit_test(test_own_lanes), cmocka_unit_test(test_spoiled_lanes),
		cmocka_unit_test(test_no_lanes),  cmocka_unit_test(test_foreign_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
