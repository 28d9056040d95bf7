/* SPDX-License-Identifier: MIT */
/* The rows of the table in awake.h, with a clock that the test moves. */
#include "lib/wait/awake.h"
#include "proto/base/time_units.h"
#include "tests/unit/unit_test.h"

#define US    RNIC_NS_PER_US
#define NEVER UINT64_MAX
#define NOW   (3600 * RNIC_NS_PER_SECOND)

/* What a thread does that looks `count` times from its activity on, each time after `step_ns`. */
struct course {
	enum awake_who who;
	uint64_t step_ns;
	uint32_t turns, yields; /* before the first sleep */
};

/* A yield that is neither quick nor long. */
static void yield_for(struct awake *awake, uint64_t *now_ns, uint64_t yield_ns)
{
	awake_note_yield(awake, *now_ns, *now_ns + yield_ns);
	*now_ns += yield_ns;
}

static void run_course(const struct course *course)
{
	const struct awake_rule *rule = &awake_rules[course->who];
	struct awake awake = {0};
	uint64_t now_ns = NOW;
	uint32_t turns = 0, yields = 0;
	enum awake_step step;

	awake_begin(&awake, now_ns);
	for (;;) {
		awake_note_look(&awake);
		step = awake_next(&awake, rule, now_ns);
		if (step == AWAKE_SLEEP)
			break;
		turns += step == AWAKE_TURN;
		yields += step == AWAKE_YIELD;
		if (step == AWAKE_YIELD)
			yield_for(&awake, &now_ns, course->step_ns);
		else
			now_ns += course->step_ns;
	}
	assert_int_equal(turns, course->turns);
	assert_int_equal(yields, course->yields);
}

/* With steps of 2 us nobody is alone on the core. */
static void test_how_long_each_stays_awake(void **state)
{
	static const struct course courses[] = {
		{AWAKE_DEVICE_PROCESS, 2 * US, 0, 100}, {AWAKE_CONTROL_PLANE, 2 * US, 0, 50},
		{AWAKE_DEVICE_THREAD, 2 * US, 0, 25},	{AWAKE_DEVICE_WAITER, 2 * US, 0, 100},
		{AWAKE_POLLER, 2 * US, 3, 4092},	{AWAKE_POLLER_IN_DEVICE, 2 * US, 3, 4092},
		{AWAKE_CALLER, 2 * US, 0, 25},		{AWAKE_EXPECTANT_CALLER, 2 * US, 0, 25},
		{AWAKE_RSOCKET, 2 * US, 5, 0},		{AWAKE_RSOCKET_WRITER, 2 * US, 200, 0},
	};

	(void)state;
	assert_int_equal(sizeof(courses) / sizeof(courses[0]), AWAKE_WHO_COUNT);
	for (unsigned i = 0; i < AWAKE_WHO_COUNT; i++)
		run_course(&courses[i]);
}

/* A yield of 1 us finds nobody: for 5 us the thread keeps the core, then it asks again. */
static void test_who_is_alone_keeps_the_core(void **state)
{
	static const struct course courses[] = {
		{AWAKE_DEVICE_WAITER, 1 * US, 166, 34},
		{AWAKE_CALLER, 1 * US, 0, 50},
		{AWAKE_DEVICE_PROCESS, 1 * US, 0, 200},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(courses) / sizeof(courses[0]); i++)
		run_course(&courses[i]);
}

/* A lost time slice is slept for, eight times as long, whatever the thread has found since. */
static void test_a_long_yield_is_slept_for(void **state)
{
	const uint64_t lost_ns = AWAKE_LONG_YIELD_NS, end_ns = NOW + lost_ns;

	(void)state;
	for (unsigned who = 0; who < AWAKE_WHO_COUNT; who++) {
		const struct awake_rule *rule = &awake_rules[who];
		struct awake awake = {.looks = rule->turns};

		awake_note_yield(&awake, NOW, end_ns - 1);
		awake.since_ns = end_ns;
		assert_int_not_equal(awake_next(&awake, rule, end_ns), AWAKE_SLEEP);
		awake_note_yield(&awake, NOW, end_ns);
		assert_int_equal(awake_next(&awake, rule, end_ns), AWAKE_SLEEP);
		awake.since_ns = end_ns + AWAKE_SHARE * lost_ns - 1;
		assert_int_equal(awake_next(&awake, rule, awake.since_ns), AWAKE_SLEEP);
		awake.since_ns++;
		assert_int_not_equal(awake_next(&awake, rule, awake.since_ns), AWAKE_SLEEP);
	}
}

static void test_who_waited_long_sleeps_at_once(void **state)
{
	static const struct {
		enum awake_who who;
		uint64_t waited_ns;
		enum awake_step step;
	} cases[] = {
		{AWAKE_DEVICE_WAITER, 500 * US, AWAKE_YIELD},
		{AWAKE_DEVICE_WAITER, 500 * US + 1, AWAKE_SLEEP},
		{AWAKE_EXPECTANT_CALLER, 500 * US, AWAKE_YIELD},
		{AWAKE_EXPECTANT_CALLER, 500 * US + 1, AWAKE_SLEEP},
		{AWAKE_CALLER, RNIC_NS_PER_SECOND, AWAKE_YIELD},
		{AWAKE_DEVICE_PROCESS, RNIC_NS_PER_SECOND, AWAKE_YIELD},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct awake awake = {0};

		awake_begin(&awake, NOW);
		awake_note_wait(&awake, NOW, NOW + cases[i].waited_ns);
		awake_begin(&awake, NOW + RNIC_NS_PER_SECOND);
		assert_int_equal(
			awake_next(&awake, &awake_rules[cases[i].who], NOW + RNIC_NS_PER_SECOND),
			cases[i].step);
	}
}

static void test_a_near_deadline_is_not_slept_for(void **state)
{
	static const struct {
		enum awake_who who;
		uint64_t deadline_ns; /* from now */
		enum awake_step step;
	} cases[] = {
		{AWAKE_DEVICE_PROCESS, 20 * US - 1, AWAKE_TURN},
		{AWAKE_DEVICE_PROCESS, 20 * US, AWAKE_SLEEP},
		{AWAKE_DEVICE_THREAD, 20 * US - 1, AWAKE_YIELD},
		{AWAKE_DEVICE_THREAD, 20 * US, AWAKE_SLEEP},
		{AWAKE_DEVICE_WAITER, 20 * US - 1, AWAKE_YIELD},
		{AWAKE_DEVICE_WAITER, 20 * US, AWAKE_SLEEP},
		{AWAKE_CONTROL_PLANE, 0, AWAKE_TURN},
		{AWAKE_CONTROL_PLANE, 1, AWAKE_SLEEP},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(awake_before_sleep(&awake_rules[cases[i].who], NOW,
						    NOW + cases[i].deadline_ns),
				 cases[i].step);
}

/* --poll busy neither sleeps nor yields, whatever a yield has cost; --poll sleep sleeps at once. */
static void test_modes_of_polling(void **state)
{
	const struct awake_rule busy = awake_rule_of(AWAKE_DEVICE_PROCESS, POLL_BUSY);
	const struct awake_rule asleep = awake_rule_of(AWAKE_DEVICE_PROCESS, POLL_SLEEP);
	const struct awake_rule adaptive = awake_rule_of(AWAKE_DEVICE_PROCESS, POLL_ADAPTIVE);
	struct awake awake = {.sleep_until_ns = NEVER};

	(void)state;
	assert_int_equal(awake_next(&awake, &busy, NOW), AWAKE_TURN);
	assert_int_equal(awake_next(&awake, &adaptive, NOW), AWAKE_SLEEP);
	awake = (struct awake){.since_ns = NOW};
	assert_int_equal(awake_next(&awake, &asleep, NOW), AWAKE_SLEEP);
	assert_int_equal(awake_next(&awake, &adaptive, NOW), AWAKE_YIELD);
}

/* A thread that got its core 2 ms late stays away for 2 ms; one that got it at once, not longer. */
static void test_many_threads_sleep_longer(void **state)
{
	struct awake awake = {0};

	(void)state;
	assert_int_equal(awake_sleep_ns(&awake, 20 * US), 20 * US);
	awake_note_sleep(&awake, 20 * US, 120 * US);
	assert_int_equal(awake_sleep_ns(&awake, 20 * US), 20 * US);
	awake_note_sleep(&awake, 20 * US, 2020 * US);
	assert_int_equal(awake_sleep_ns(&awake, 20 * US), 2000 * US);
	awake_note_sleep(&awake, 2000 * US, 3600 * RNIC_NS_PER_SECOND);
	assert_int_equal(awake_sleep_ns(&awake, 20 * US), AWAKE_SLEEP_MOST_NS);
	awake_note_sleep(&awake, AWAKE_SLEEP_MOST_NS, AWAKE_SLEEP_MOST_NS + 100 * US);
	assert_int_equal(awake_sleep_ns(&awake, 20 * US), 20 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_long_each_stays_awake),
		cmocka_unit_test(test_who_is_alone_keeps_the_core),
		cmocka_unit_test(test_a_long_yield_is_slept_for),
		cmocka_unit_test(test_who_waited_long_sleeps_at_once),
		cmocka_unit_test(test_a_near_deadline_is_not_slept_for),
		cmocka_unit_test(test_modes_of_polling),
		cmocka_unit_test(test_many_threads_sleep_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
