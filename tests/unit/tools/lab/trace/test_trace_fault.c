/* SPDX-License-Identifier: MIT */
/* The rules of rnic-lab trace --fault, as the hosts get them. */
#include "tools/lab/trace/trace_fault.h"

#include "tests/unit/unit_test.h"

#include <stdlib.h>

static void expect_rules(const char *spec, const char *wanted)
{
	char *text;

	assert_int_equal(trace_fault_for_receivers(spec, &text), 0);
	assert_string_equal(text, wanted);
	free(text);
}

static void test_on_the_way(void **state)
{
	(void)state;
	expect_rules("drop@rc-write/nth=2", "rx:drop@rc-write/nth=2");
	expect_rules("drop=1%,delay=2ms,seed=7", "rx:drop=1%,rx:delay=2ms,seed=7");
}

static void test_as_they_are(void **state)
{
	(void)state;
	expect_rules("tx:drop=1%,rx:mark", "tx:drop=1%,rx:mark");
	expect_rules("rnr/first=2,fail=ENOMEM@reg_mr,cq:delay=1ms",
		     "rnr/first=2,fail=ENOMEM@reg_mr,cq:delay=1ms");
	expect_rules("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_the_way),
		cmocka_unit_test(test_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
