/* SPDX-License-Identifier: MIT */
#include "lib/wait/yield_backoff.h"
#include "tests/unit/unit_test.h"

static void test_it_is_returned_at_first(void **state)
{
	const struct rnic_yield_backoff backoff = {0};

	(void)state;
	assert_true(rnic_yield_backoff_is_returned(&backoff, 0));
}

static void test_turns_of_others_cost_nothing(void **state)
{
	struct rnic_yield_backoff backoff = {0};

	(void)state;
	rnic_yield_backoff_note(&backoff, 1000, 1000 + RNIC_YIELD_BACKOFF_LONG_NS - 1);
	assert_true(rnic_yield_backoff_is_returned(&backoff, 1000 + RNIC_YIELD_BACKOFF_LONG_NS));
}

static void test_time_that_was_lost_is_slept_for(void **state)
{
	struct rnic_yield_backoff backoff = {0};
	const uint64_t lost_ns = 2 * RNIC_YIELD_BACKOFF_LONG_NS;
	const uint64_t until_ns = 1000 + lost_ns + RNIC_YIELD_BACKOFF_SHARE * lost_ns;

	(void)state;
	rnic_yield_backoff_note(&backoff, 1000, 1000 + lost_ns);
	assert_false(rnic_yield_backoff_is_returned(&backoff, 1000 + lost_ns));
	assert_false(rnic_yield_backoff_is_returned(&backoff, until_ns - 1));
	assert_true(rnic_yield_backoff_is_returned(&backoff, until_ns));
}

static void test_a_quick_return_says_that_nobody_else_runs(void **state)
{
	struct rnic_yield_backoff backoff = {0};
	const uint64_t ended_ns = 1000 + RNIC_YIELD_BACKOFF_QUICK_NS;

	(void)state;
	rnic_yield_backoff_note(&backoff, 1000, ended_ns);
	assert_false(rnic_yield_backoff_is_alone(&backoff, ended_ns));
	rnic_yield_backoff_note(&backoff, 1000, ended_ns - 1);
	assert_true(rnic_yield_backoff_is_alone(&backoff, ended_ns));
	assert_false(
		rnic_yield_backoff_is_alone(&backoff, ended_ns - 1 + RNIC_YIELD_BACKOFF_ALONE_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_returned_at_first),
		cmocka_unit_test(test_turns_of_others_cost_nothing),
		cmocka_unit_test(test_time_that_was_lost_is_slept_for),
		cmocka_unit_test(test_a_quick_return_says_that_nobody_else_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
