/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/scenario_save.h"

#include "lib/nic/port/conditions/fault_plan.h"
#include "lib/nic/port/port.h"
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LANE 0x83
#define SENT 400

/* What the rule does to the nth of SENT packets, of which each second one is a SEND. */
static uint32_t run_rule(const char *text, uint64_t *nths)
{
	static struct fault_plan plan;
	uint8_t bytes[RNIC_BTH_BYTES] = {0};
	const struct datagram datagram = {.bytes = bytes, .length = sizeof(bytes)};
	struct fault_rule rule;
	char message[256];
	uint32_t count, hits = 0, sends = 0;

	memset(&plan, 0, sizeof(plan));
	assert_int_equal(fault_rules_parse(text, 1, &rule, 1, &count, message, sizeof(message)), 0);
	fault_rule_begin(&rule, LANE, 0);
	fault_plan_set(&plan, 0, 1, &rule, 0);
	for (uint32_t i = 0; i < SENT; i++) {
		bytes[0] = i % 2 == 0 ? 0x04 : 0x11; /* RC SEND only, RC acknowledge */
		sends += i % 2 == 0;
		if (fault_plan_judge(&plan, &plan.transmit, &datagram, 0).drop)
			nths[hits++] = sends;
	}
	return hits;
}

static void test_the_hits_of_a_rule_are_found_again(void **state)
{
	static const char *const rules[] = {
		"drop=10%@rc-send",
		"drop=10%@rc-send,seed=9",
		"drop@rc-send/chance=5%/seed=4",
		"drop=25%@rc-send/every=3",
		"drop=50%@rc-send/first=20",
		"drop=10%@rc-send/count=4",
	};
	uint64_t wanted[SENT], found[SENT];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rules); i++) {
		const uint32_t hits = run_rule(rules[i], wanted);

		assert_in_range(hits, 1, SENT / 2);
		assert_int_equal(scenario_hits_find(rules[i], LANE, hits, found), 0);
		assert_memory_equal(found, wanted, hits * sizeof(found[0]));
	}
	assert_true(scenario_hits_find("drop=0%", LANE, 1, found) < 0);
}

static void test_a_rule_without_its_chance(void **state)
{
	static const struct {
		const char *rule;
		const char *text;
	} cases[] = {
		{"drop=1%", "drop"},
		{"tx:drop=1%@rc-send/every=2,seed=7", "tx:drop@rc-send/every=2"},
		{"rx:delay=10ms+-2ms@rc-send/chance=5%/seed=3", "rx:delay=10ms+-2ms@rc-send"},
		{"drop@rc-send/count=3/chance=2.5%/qpn=0x12", "drop@rc-send/qpn=0x12"},
	};
	char text[SCENARIO_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		scenario_rule_without_chance(cases[i].rule, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void test_a_run_is_saved_as_a_scenario(void **state)
{
	static struct scenario scenario, saved;
	char path[] = "/tmp/test_scenario_save.XXXXXX", message[SCENARIO_FAULT_BYTES];
	struct scenario_report report = {0};
	uint64_t nths[SENT];
	char wanted[64];
	const int fd = mkstemp(path);

	(void)state;
	assert_return_code(fd, 0);
	scenario = (struct scenario){.name = "run"};
	scenario_add_line(&scenario, "for 2s drop=10%@rc-send", 1, message);
	scenario_add_line(&scenario, "at 1s link down", 2, message);
	scenario_add_line(&scenario, "delay=1ms/chance=50%", 3, message);
	scenario_add_line(&scenario, "corrupt=1%", 4, message);
	run_rule("drop=10%@rc-send", nths);
	report.hits[0] = 3;
	report.actors[0] = LANE + 1;
	report.hits[2] = 1000;
	report.actors[2] = LANE + 1;
	assert_int_equal(scenario_save(&scenario, &report, path), 0);
	assert_int_equal(scenario_read(&saved, path, message), 0);
	assert_int_equal(saved.count, 5);
	for (uint32_t i = 0; i < 3; i++) {
		snprintf(wanted, sizeof(wanted), "for 2s drop@rc-send/nth=%d", (int)nths[i]);
		assert_string_equal(saved.lines[i].text, wanted);
	}
	assert_string_equal(saved.lines[3].text, "at 1s link down");
	assert_string_equal(saved.lines[4].text, "delay=1ms/chance=50%");
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_hits_of_a_rule_are_found_again),
		cmocka_unit_test(test_a_rule_without_its_chance),
		cmocka_unit_test(test_a_run_is_saved_as_a_scenario),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
