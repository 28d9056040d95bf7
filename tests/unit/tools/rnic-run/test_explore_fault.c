/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/explore_fault.h"

#include "tests/unit/unit_test.h"

#include <errno.h>
#include <string.h>

#define DRAWS 5000

static struct explore_profile profile;

/* A program that has everything, or only the target `name`. */
static void profile_with(const char *name)
{
	explore_profile_init(&profile, true);
	profile.duration_us = 250000;
	for (uint32_t i = 0; i < profile.target_count; i++)
		if (name == NULL || strcmp(profile.targets[i].name, name) == 0)
			profile.targets[i].count = 1 + i * i;
}

static void check_line(const struct explore_fault *fault)
{
	struct scenario scenario = {.name = "drawn"};
	char text[SCENARIO_TEXT_BYTES], message[SCENARIO_FAULT_BYTES];

	explore_fault_text(&profile, fault, text);
	if (scenario_add_line(&scenario, text, 1, message) != 0)
		fail_msg("%s: %s", text, message);
	assert_int_equal(scenario.count, 1);
}

static void test_what_is_drawn_is_a_scenario(void **state)
{
	struct explore_faults faults;
	struct prng prng;

	(void)state;
	profile_with(NULL);
	prng_init(&prng, 1);
	for (uint32_t i = 0; i < DRAWS; i++) {
		assert_true(explore_draw(&prng, &profile, EXPLORE_ALL_CLASSES, &faults));
		assert_in_range(faults.count, 1, EXPLORE_FAULTS_MAX);
		for (uint32_t j = 0; j < faults.count; j++)
			check_line(&faults.faults[j]);
	}
}

/* A program that waits for each of its completions is to end in time. */
static void test_delays_in_sum_leave_a_run_its_time(void **state)
{
	struct explore_faults faults;
	uint32_t repeated = 0;
	struct prng prng;

	(void)state;
	profile_with(NULL);
	prng_init(&prng, 3);
	for (uint32_t i = 0; i < DRAWS; i++) {
		assert_true(explore_draw(&prng, &profile, 1u << EXPLORE_DELAY, &faults));
		for (uint32_t j = 0; j < faults.count; j++) {
			const uint64_t *values = faults.faults[j].values;
			const uint64_t target = values[EXPLORE_PACKET] + values[EXPLORE_WORK];

			if (values[EXPLORE_DELAY_TIME] == 0 || values[EXPLORE_NTH] != 0)
				continue;
			repeated++;
			assert_in_range(values[EXPLORE_DELAY_TIME] * profile.targets[target].count,
					1, EXPLORE_DELAYS_MAX_US);
		}
	}
	assert_int_not_equal(repeated, 0);
}

/* Each way makes a fault simpler, so that a descent ends. */
static void test_simpler_faults_are_scenarios_and_come_to_an_end(void **state)
{
	struct explore_faults faults;
	struct prng prng;

	(void)state;
	profile_with(NULL);
	prng_init(&prng, 2);
	for (uint32_t i = 0; i < DRAWS / 10; i++) {
		uint32_t steps = 0;

		explore_draw(&prng, &profile, EXPLORE_ALL_CLASSES, &faults);
		for (uint32_t way = 0; way < 8; way++) {
			struct explore_fault fault = faults.faults[0];

			for (steps = 0; explore_fault_simplify(&fault, way); steps++) {
				check_line(&fault);
				assert_in_range(steps, 0, 200);
			}
		}
		explore_fault_strengthen(&faults.faults[0]);
		check_line(&faults.faults[0]);
	}
}

static void test_the_seed_decides(void **state)
{
	struct explore_faults one, other;
	struct prng prng;

	(void)state;
	profile_with(NULL);
	for (uint64_t seed = 0; seed < 20; seed++) {
		prng_init(&prng, seed);
		explore_draw(&prng, &profile, EXPLORE_ALL_CLASSES, &one);
		prng_init(&prng, seed);
		explore_draw(&prng, &profile, EXPLORE_ALL_CLASSES, &other);
		assert_memory_equal(&one, &other, sizeof(one));
	}
}

static void test_only_what_a_program_has_is_spoiled(void **state)
{
	char text[SCENARIO_TEXT_BYTES];
	struct explore_faults faults;
	struct prng prng;

	(void)state;
	profile_with("ud-send");
	prng_init(&prng, 3);
	for (uint32_t i = 0; i < DRAWS; i++) {
		explore_draw(&prng, &profile, 1u << EXPLORE_LOSS | 1u << EXPLORE_DELAY, &faults);
		for (uint32_t j = 0; j < faults.count; j++) {
			explore_fault_text(&profile, &faults.faults[j], text);
			assert_non_null(strstr(text, "@ud-send"));
		}
	}
	profile_with("none");
	assert_false(explore_draw(&prng, &profile, 1u << EXPLORE_LOSS, &faults));
}

static void test_probes_are_scenarios(void **state)
{
	char text[SCENARIO_TEXT_BYTES], message[SCENARIO_FAULT_BYTES];

	(void)state;
	profile_with(NULL);
	for (uint32_t i = 0; i < profile.target_count; i++) {
		struct scenario scenario = {.name = "probe"};

		explore_target_probe(&profile.targets[i], text);
		if (scenario_add_line(&scenario, text, 1, message) != 0)
			fail_msg("%s: %s", text, message);
	}
	explore_profile_init(&profile, false);
	for (uint32_t i = 0; i < profile.target_count; i++)
		assert_string_equal(profile.targets[i].way, "cq:");
}

static void test_classes(void **state)
{
	uint32_t classes;

	(void)state;
	assert_int_equal(explore_classes_read("loss", &classes), 0);
	assert_int_equal(classes, 1u << EXPLORE_LOSS);
	assert_int_equal(explore_classes_read("delay,errno", &classes), 0);
	assert_int_equal(classes, 1u << EXPLORE_DELAY | 1u << EXPLORE_ERRNO);
	assert_int_equal(explore_classes_read("", &classes), -EINVAL);
	assert_int_equal(explore_classes_read("loss,", &classes), -EINVAL);
	assert_int_equal(explore_classes_read("los", &classes), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_drawn_is_a_scenario),
		cmocka_unit_test(test_delays_in_sum_leave_a_run_its_time),
		cmocka_unit_test(test_simpler_faults_are_scenarios_and_come_to_an_end),
		cmocka_unit_test(test_the_seed_decides),
		cmocka_unit_test(test_only_what_a_program_has_is_spoiled),
		cmocka_unit_test(test_probes_are_scenarios),
		cmocka_unit_test(test_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
