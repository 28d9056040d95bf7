/* SPDX-License-Identifier: MIT */
#include "device/idle_core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_running_threads(void **state)
{
	static const struct {
		const char *text;
		uint32_t running;
	} cases[] = {
		{"0.20 0.18 0.12 1/80 11206\n", 1},
		{"9.12 9.15 5.66 15/1155 28648\n", 15},
		{"0.00 0.00 0.00 0/1 1\n", 0},
		{"/", 0},
		{"", 0},
		{"no such thing", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(idle_core_running(cases[i].text), cases[i].running);
}

/* What cannot be known counts as no: polling is the choice that can harm. */
static void test_unknown_is_no(void **state)
{
	struct idle_core idle = {.loadavg_fd = -1, .cores = 64};

	(void)state;
	assert_false(idle_core_is_there(&idle, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_running_threads),
		cmocka_unit_test(test_unknown_is_no),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
