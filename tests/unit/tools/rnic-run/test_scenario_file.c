/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/scenario_file.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <string.h>

static struct scenario scenario;
static char message[SCENARIO_FAULT_BYTES];

static const struct scenario_line *only_line(const char *text)
{
	scenario = (struct scenario){.name = "file"};
	assert_int_equal(scenario_add_line(&scenario, text, 7, message), 0);
	assert_int_equal(scenario.count, 1);
	return &scenario.lines[0];
}

static void test_a_rule_of_faults_is_a_line(void **state)
{
	const struct scenario_line *line = only_line("tx:drop@rc-send/nth=3\n");

	(void)state;
	assert_int_equal(line->condition, RNIC_CONDITION_FAULT_ADD);
	assert_string_equal(line->rule, "tx:drop@rc-send/nth=3");
	assert_true(line->needs_process);
	assert_int_equal(line->at_ns, 0);
	assert_int_equal(line->for_ns, 0);
	assert_false(only_line("fail=ENOMEM@reg_mr/nth=3")->needs_process);
	assert_false(only_line("rx:drop/qpn=1")->needs_process);
	assert_true(only_line("drop/qpn=2")->needs_process);
}

static void test_times_and_device(void **state)
{
	const struct scenario_line *line =
		only_line("  at 2s for\t500ms on rnic1 drop/pattern=ok ok fail # why\n");

	(void)state;
	assert_int_equal(line->at_ns, 2000000000);
	assert_int_equal(line->for_ns, 500000000);
	assert_string_equal(line->device, "rnic1");
	assert_string_equal(line->rule, "drop/pattern=ok ok fail");
	assert_string_equal(scenario_line_words(line),
			    "at 2s for 500ms on rnic1 drop/pattern=ok ok fail");
}

static void test_conditions(void **state)
{
	const struct scenario_line *line = only_line("at 1s event cq-err 12/3");

	(void)state;
	assert_int_equal(line->condition, RNIC_CONDITION_CQ_ERR);
	assert_string_equal(line->object, "12/3");
	line = only_line("qp error #2#");
	assert_int_equal(line->condition, RNIC_CONDITION_QP_ERROR);
	assert_string_equal(line->object, "#2#");
	line = only_line("for 1s link down #");
	assert_int_equal(line->condition, RNIC_CONDITION_LINK_DOWN);
	assert_int_equal(line->for_ns, 1000000000);
}

static void test_comments_are_no_lines(void **state)
{
	static const char *const texts[] = {"", "\n", "   \n", "#drop\n", "  # drop\n", "\t#\n"};

	(void)state;
	scenario = (struct scenario){0};
	for (size_t i = 0; i < RNIC_COUNT_OF(texts); i++)
		assert_int_equal(scenario_add_line(&scenario, texts[i], 1, message), 0);
	assert_int_equal(scenario.count, 0);
}

static void test_what_is_wrong_has_line_and_column(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} cases[] = {
		{"at", "column 3, at the end: expected a time such as 10ms"},
		{"at x", "column 4, at 'x': expected a time such as 10ms"},
		{"at 10msec drop", "column 8, at 'ec': expected a blank behind the time"},
		{"at 10ms", "column 8, at the end: expected a rule, link, event or qp"},
		{"on", "column 3, at the end: expected a device such as rnic0"},
		{"at 10ms dropp", "column 13, at 'p': expected =PERCENTAGE, @OPCODE"},
		{"  lose=1%", "column 3, at 'lose=1%': expected drop"},
		{"link left", "column 6, at 'left': expected down, up, flap or renumber"},
		{"event", "column 6, at the end: expected port-err"},
		{"event qp-fatal", "column 15, at the end: expected queue pair (QPN)"},
		{"event gid-change 7", "column 18, at '7': expected the end of the line"},
		{"for 1s event gid-change", "at the end: expected no \"for\": this happens once"},
		{"drop,delay=1ms", "column 6, at 'delay=1ms': expected no further rule"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		scenario = (struct scenario){.name = "file"};
		assert_int_equal(scenario_add_line(&scenario, cases[i].text, 7, message), -EINVAL);
		if (strstr(message, cases[i].message) == NULL ||
		    strncmp(message, "file: line 7, ", 14) != 0)
			fail_msg("%s: %s", cases[i].text, message);
	}
}

static void test_lines_are_bounded(void **state)
{
	char text[SCENARIO_TEXT_BYTES + 8];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	scenario = (struct scenario){0};
	assert_int_equal(scenario_add_line(&scenario, text, 1, message), -EINVAL);
	for (uint32_t i = 0; i < SCENARIO_LINES_MAX; i++)
		assert_int_equal(scenario_add_line(&scenario, "drop", i + 1, message), 0);
	assert_int_equal(scenario_add_line(&scenario, "drop", 65, message), -EINVAL);
	assert_non_null(strstr(message, "no more than 64 rules"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_rule_of_faults_is_a_line),
		cmocka_unit_test(test_times_and_device),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_comments_are_no_lines),
		cmocka_unit_test(test_what_is_wrong_has_line_and_column),
		cmocka_unit_test(test_lines_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
