/* SPDX-License-Identifier: MIT */
#include "client/costly_users.h"

#include "base/time_units.h"
#include "unit_test.h"

#define SECONDS(n) ((uint64_t)(n)*RNIC_NS_PER_SECOND)

static void test_each_time_is_twice_as_long(void **state)
{
	static const uint32_t expected[] = {10, 20, 40, 80, 160, 320, 600, 600};
	struct costly_users all = {0};
	uint64_t now_ns = SECONDS(1000);

	(void)state;
	assert_false(costly_users_are_shut_out(&all, 7, now_ns));
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		assert_int_equal(costly_users_note(&all, 7, now_ns), expected[i]);
		assert_true(costly_users_are_shut_out(&all, 7, now_ns));
		assert_false(costly_users_are_shut_out(&all, 8, now_ns));
		now_ns += SECONDS(expected[i]);
		assert_true(costly_users_are_shut_out(&all, 7, now_ns - 1));
		assert_false(costly_users_are_shut_out(&all, 7, now_ns));
	}
}

static void test_a_user_counts_as_new_in_the_end(void **state)
{
	struct costly_users all = {0};
	const uint64_t began_ns = SECONDS(5);

	(void)state;
	costly_users_note(&all, 7, began_ns);
	assert_int_equal(costly_users_note(&all, 7, began_ns), 20);
	assert_int_equal(costly_users_note(&all, 7, began_ns + SECONDS(20 + 601)), 10);
}

static void test_a_full_table_forgets_one(void **state)
{
	struct costly_users all = {0};

	(void)state;
	for (uid_t uid = 1; uid <= COSTLY_USERS_MAX + 1; uid++)
		costly_users_note(&all, uid, SECONDS(100) + uid);
	assert_false(costly_users_are_shut_out(&all, 1, SECONDS(101)));
	for (uid_t uid = 2; uid <= COSTLY_USERS_MAX + 1; uid++)
		assert_true(costly_users_are_shut_out(&all, uid, SECONDS(101)));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_time_is_twice_as_long),
		cmocka_unit_test(test_a_user_counts_as_new_in_the_end),
		cmocka_unit_test(test_a_full_table_forgets_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
