/* SPDX-License-Identifier: MIT */
#include "base/courtesy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_it_is_returned_at_first(void **state)
{
	const struct rnic_courtesy courtesy = {0};

	(void)state;
	assert_true(rnic_courtesy_is_returned(&courtesy, 0));
}

static void test_turns_of_others_cost_nothing(void **state)
{
	struct rnic_courtesy courtesy = {0};

	(void)state;
	rnic_courtesy_note(&courtesy, 1000, 1000 + RNIC_COURTESY_LONG_NS - 1);
	assert_true(rnic_courtesy_is_returned(&courtesy, 1000 + RNIC_COURTESY_LONG_NS));
}

static void test_time_that_was_lost_is_slept_for(void **state)
{
	struct rnic_courtesy courtesy = {0};
	const uint64_t lost_ns = 2 * RNIC_COURTESY_LONG_NS;
	const uint64_t until_ns = 1000 + lost_ns + RNIC_COURTESY_SHARE * lost_ns;

	(void)state;
	rnic_courtesy_note(&courtesy, 1000, 1000 + lost_ns);
	assert_false(rnic_courtesy_is_returned(&courtesy, 1000 + lost_ns));
	assert_false(rnic_courtesy_is_returned(&courtesy, until_ns - 1));
	assert_true(rnic_courtesy_is_returned(&courtesy, until_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_returned_at_first),
		cmocka_unit_test(test_turns_of_others_cost_nothing),
		cmocka_unit_test(test_time_that_was_lost_is_slept_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
