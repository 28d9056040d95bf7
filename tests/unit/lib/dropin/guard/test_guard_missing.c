/* SPDX-License-Identifier: MIT */
/* Runs without the guard's library. */
#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/unit_test.h"

static void a_process_without_the_library_has_no_guard(void **state)
{
	const struct rnic_guard *found = NULL;

	(void)state;
	assert_int_equal(rnic_guard_open(&found), -ENOENT);
	assert_null(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_without_the_library_has_no_guard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
