/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/throttled_users.h"

#include "proto/base/time_units.h"
#include "tests/unit/unit_test.h"

#define SECONDS(n) ((uint64_t)(n)*RNIC_NS_PER_SECOND)

/* The first calls that took long are forgiven. Returns what the next one costs. */
static uint32_t shut_out(struct throttled_users *all, uid_t uid, uint64_t now_ns)
{
	for (unsigned i = 0; i < THROTTLED_USERS_FORGIVEN; i++)
		assert_int_equal(throttled_users_note(all, uid, now_ns), 0);
	assert_false(throttled_users_are_shut_out(all, uid, now_ns));
	return throttled_users_note(all, uid, now_ns);
}

static void test_rare_calls_are_forgiven(void **state)
{
	struct throttled_users all = {0};

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(throttled_users_note(&all, 7, SECONDS(100 + 6 * i)), 0);
	assert_false(throttled_users_are_shut_out(&all, 7, SECONDS(100 + 6 * 100)));
}

static void test_each_time_is_twice_as_long(void **state)
{
	static const uint32_t expected[] = {20, 40, 80, 160, 320, 600, 600};
	struct throttled_users all = {0};
	uint64_t now_ns = SECONDS(1000);

	(void)state;
	assert_int_equal(shut_out(&all, 7, now_ns), 10);
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		assert_int_equal(throttled_users_note(&all, 7, now_ns), expected[i]);
		assert_true(throttled_users_are_shut_out(&all, 7, now_ns));
		assert_false(throttled_users_are_shut_out(&all, 8, now_ns));
		now_ns += SECONDS(expected[i]);
		assert_true(throttled_users_are_shut_out(&all, 7, now_ns - 1));
		assert_false(throttled_users_are_shut_out(&all, 7, now_ns));
	}
}

static void test_a_user_counts_as_new_in_the_end(void **state)
{
	struct throttled_users all = {0};

	(void)state;
	shut_out(&all, 7, SECONDS(5));
	assert_int_equal(throttled_users_note(&all, 7, SECONDS(5)), 20);
	assert_int_equal(shut_out(&all, 7, SECONDS(5 + 20 + 601)), 10);
}

static void test_attempts_are_counted(void **state)
{
	struct throttled_users all = {0};

	(void)state;
	assert_int_equal(throttled_users_count_attempt(&all, 7, SECONDS(1)), 0);
	shut_out(&all, 7, SECONDS(1));
	for (uint32_t i = 1; i <= 100; i++)
		assert_int_equal(throttled_users_count_attempt(&all, 7, SECONDS(2)), i);
	assert_int_equal(throttled_users_count_attempt(&all, 8, SECONDS(2)), 0);
	assert_int_equal(throttled_users_count_attempt(&all, 7, SECONDS(11)), 0);
}

static void test_a_full_table_forgets_one(void **state)
{
	struct throttled_users all = {0};

	(void)state;
	for (uid_t uid = 1; uid <= THROTTLED_USERS_MAX + 1; uid++)
		shut_out(&all, uid, SECONDS(100) + uid);
	assert_false(throttled_users_are_shut_out(&all, 1, SECONDS(101)));
	for (uid_t uid = 2; uid <= THROTTLED_USERS_MAX + 1; uid++)
		assert_true(throttled_users_are_shut_out(&all, uid, SECONDS(101)));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rare_calls_are_forgiven),
		cmocka_unit_test(test_each_time_is_twice_as_long),
		cmocka_unit_test(test_a_user_counts_as_new_in_the_end),
		cmocka_unit_test(test_attempts_are_counted),
		cmocka_unit_test(test_a_full_table_forgets_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
