/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault_rule.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

static void wrong_specifications_name_the_piece(void **state)
{
	static const struct {
		const char *spec;
		const char *complaint;
	} cases[] = {
		{"", "at the end"},
		{"loss=1%", "'loss=1%'"},
		{"drop=1%,", "at the end"},
		{"drop=101%", "'101%'"},
		{"drop=1", "'1'"},
		{"drop=100.5%", "'100.5%'"},
		{"drop@rc-nonsense", "'rc-nonsense'"},
		{"drop@", "at the end"},
		{"drop@rc-acknowled", "'rc-acknowled'"},
		{"drop/first=0", "'first=0'"},
		{"drop/last=1", "'last=1'"},
		{"drop/behind=1", "'behind=1'"},
		{"delay", "at the end"},
		{"delay=10", "'10'"},
		{"delay=10m", "'10m'"},
		{"delay=61s", "'61s'"},
		{"delay=1ms+-2ms", "jitter"},
		{"both:drop=1%", "'both:drop=1%'"},
		{"seed=x", "'x'"},
		{"drop=1%x", "'x'"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct fault_plan plan;
		char message[128] = "";

		assert_int_equal(fault_plan_parse(&plan, cases[i].spec, message, sizeof(message)),
				 -EINVAL);
		if (strstr(message, cases[i].complaint) == NULL)
			fail_msg("'%s' gave \"%s\"", cases[i].spec, message);
	}
}

static void right_specifications_are_understood(void **state)
{
	struct fault_plan plan;
	char message[128];

	(void)state;
	assert_int_equal(fault_plan_parse(&plan,
					  "rx:drop=0.25%@rc-read-response/first=9/every=2/count=3,"
					  "delay=10ms+-2us,reorder/behind=7,seed=42",
					  message, sizeof(message)),
			 0);
	assert_int_equal(plan.rule_count, 3);
	assert_int_equal(plan.seed, 42);
	assert_true(plan.rules[0].is_receive);
	assert_int_equal(plan.rules[0].chance_ppm, 2500);
	assert_int_equal(plan.rules[0].first, 9);
	assert_int_equal(plan.rules[0].every, 2);
	assert_int_equal(plan.rules[0].count, 3);
	assert_int_equal(plan.rules[0].opcodes[0], 0xf << 13 & ~(1 << 17));
	assert_string_equal(plan.rules[1].text, "delay=10ms+-2us");
	assert_int_equal(plan.rules[1].delay_ns, 10000000);
	assert_int_equal(plan.rules[1].jitter_ns, 2000);
	assert_int_equal(plan.rules[2].behind, 7);
}

static void what_all_rules_do_is_put_together(void **state)
{
	static const char spec[] =
		"duplicate@rc-send,delay=2ms,delay=1ms,reorder@rc-write/behind=4,"
		"rx:drop";
	struct fault_plan plan;
	struct fault_verdict verdict;
	struct prng prng;
	char message[128];

	(void)state;
	prng_init(&prng, 1);
	assert_int_equal(fault_plan_parse(&plan, spec, message, sizeof(message)), 0);
	verdict = fault_plan_judge(&plan, &prng, false, 0x04);
	assert_true(verdict.duplicate);
	assert_false(verdict.drop);
	assert_int_equal(verdict.delay_ns, 3000000);
	assert_int_equal(verdict.behind, 0);
	verdict = fault_plan_judge(&plan, &prng, false, 0x0a);
	assert_false(verdict.duplicate);
	assert_int_equal(verdict.behind, 4);
	assert_true(fault_plan_judge(&plan, &prng, true, 0x04).drop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_specifications_name_the_piece),
		cmocka_unit_test(right_specifications_are_understood),
		cmocka_unit_test(what_all_rules_do_is_put_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
