/* SPDX-License-Identifier: MIT */
/* The table of turns.h, and its leases and posts, with a clock that the test moves. */
#include "lib/wait/turns.h"
#include "tests/unit/unit_test.h"

#define US    RNIC_NS_PER_US
#define NEVER UINT64_MAX

static uint64_t now_ns;

static int set_up(void **state)
{
	static struct turns turns;

	turns = (struct turns){0};
	turns_note_lease_sleep(&turns);
	now_ns = RNIC_NS_PER_SECOND;
	*state = &turns;
	return 0;
}

/* --- what the program does -------------------------------------------------------------------- */

/* Posts, with what the caller does for it. Returns what the post got. */
static enum turns_post post(struct turns *turns, bool is_awaited)
{
	const enum turns_post got = turns_take_post(turns, false, is_awaited, now_ns);

	if (got == TURNS_POST_WAITS)
		return got;
	if (got == TURNS_POST_TURNS)
		turns_note_receive(turns, now_ns);
	turns_note_turn(turns, false, now_ns);
	turns_go_on(turns, false, now_ns, now_ns);
	turns_note_posted(turns, now_ns);
	return got;
}

static void poll_once(struct turns *turns, bool has_received)
{
	turns_note_receive(turns, now_ns);
	turns_note_turn(turns, has_received, now_ns);
	turns_go_on(turns, has_received, now_ns, now_ns);
}

/* The first post has its turn at once, the second one waits. */
static void post_two(struct turns *turns)
{
	assert_int_not_equal(post(turns, false), TURNS_POST_WAITS);
	assert_int_equal(post(turns, false), TURNS_POST_WAITS);
	assert_int_equal(turns->posts, 1);
}

static void post_and_poll(struct turns *turns, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		post_two(turns);
		poll_once(turns, false);
		assert_int_equal(turns->posts, 0);
		now_ns += RNIC_NS_PER_MS;
	}
}

/* A datagram comes long after the program has polled, and the device's thread receives it. */
static void miss_an_arrival(struct turns *turns)
{
	now_ns += RNIC_NS_PER_MS;
	turns_note_threads_turn(turns, true, true, now_ns);
}

static void begin_watch(struct turns *turns)
{
	for (unsigned i = 0; i < TURNS_MISSES; i++)
		miss_an_arrival(turns);
	assert_true(turns_are_watched(turns));
}

/* So many turns of a program that polls, each of which meets an arrival. */
static void meet_arrivals(struct turns *turns, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		now_ns += US;
		poll_once(turns, true);
	}
}

/* --- the states ------------------------------------------------------------------------------- */

static void hand_over(struct turns *turns)
{
	turns_hand_over(turns, now_ns);
}

static void end_wait(struct turns *turns)
{
	turns_end_wait(turns, now_ns);
}

static void meet_enough(struct turns *turns)
{
	meet_arrivals(turns, TURNS_TAKES);
}

/* Each row of the table, by the calls that make its events. */
static void test_states(void **state)
{
	static const struct {
		void (*happen)(struct turns *turns);
		enum turns_state next[TURNS_STATES];
	} rows[] = {
		{turns_begin_wait, {TURNS_WAITED, TURNS_WAITED, TURNS_WAITED, TURNS_WAITED}},
		{turns_resume_wait,
		 {TURNS_WAITED, TURNS_WAITED_WATCH, TURNS_WAITED, TURNS_WAITED_WATCH}},
		{end_wait, {TURNS_LEASED, TURNS_WATCHED, TURNS_LEASED, TURNS_WATCHED}},
		{hand_over, {TURNS_WATCHED, TURNS_WATCHED, TURNS_WAITED_WATCH, TURNS_WAITED_WATCH}},
		{meet_enough, {TURNS_LEASED, TURNS_LEASED, TURNS_WAITED, TURNS_WAITED}},
	};

	(void)state;
	for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		for (unsigned from = 0; from < TURNS_STATES; from++) {
			struct turns turns = {.state = (enum turns_state)from};

			rows[row].happen(&turns);
			assert_int_equal(turns.state, rows[row].next[from]);
		}
	}
}

static void test_who_takes_the_turns(void **state)
{
	struct turns *turns = *state;

	assert_false(turns_are_programs(turns, now_ns));
	poll_once(turns, false);
	assert_true(turns_are_programs(turns, now_ns + TURNS_LEASE_NS - 1));
	assert_false(turns_are_programs(turns, now_ns + TURNS_LEASE_NS));
	turns_begin_wait(turns);
	assert_true(turns_are_programs(turns, NEVER));
	turns_end_wait(turns, now_ns);
	begin_watch(turns);
	poll_once(turns, false);
	assert_false(turns_are_programs(turns, now_ns));
}

/* Threads that wait for events take no turns: nobody else would take them during a lease. */
static void test_bystanders_have_no_lease_beside_them(void **state)
{
	struct turns *turns = *state;

	turns->bystanders = 1;
	poll_once(turns, false);
	assert_false(turns_are_programs(turns, now_ns));
}

/* A waiter that has just left comes back, and takes the turns itself. */
static void test_a_program_that_waits_here_is_attended(void **state)
{
	struct turns *turns = *state;

	turns_begin_wait(turns);
	turns_end_wait(turns, now_ns);
	assert_false(turns_hand_over(turns, now_ns));
	assert_false(turns_are_watched(turns));
	now_ns += TURNS_LEASE_NS;
	turns_note_threads_turn(turns, false, true, now_ns);
	assert_true(turns_hand_over(turns, now_ns));
	assert_true(turns_are_watched(turns));
}

/* --- posts ------------------------------------------------------------------------------------ */

static void test_a_post_that_waits_is_due_soon(void **state)
{
	struct turns *turns = *state;

	post_two(turns);
	assert_int_equal(turns->due_ns, now_ns + TURNS_POST_NS);
	assert_int_equal(turns_deadline_ns(turns, false, NEVER, now_ns), turns->due_ns);
	assert_int_equal(turns_lease_alarm_ns(turns, NEVER, now_ns), turns->due_ns);
	assert_false(turns_are_programs(turns, turns->due_ns));
}

static void test_posts_that_must_not_wait(void **state)
{
	struct turns *turns = *state;

	post_two(turns);
	assert_int_not_equal(turns_take_post(turns, true, false, now_ns), TURNS_POST_WAITS);
	*turns = (struct turns){0};
	for (unsigned i = 0; i < TURNS_EAGER_POSTS; i++)
		assert_int_not_equal(post(turns, true), TURNS_POST_WAITS);
	assert_int_equal(post(turns, true), TURNS_POST_WAITS);
}

static void test_a_burst_has_a_turn_after_so_many(void **state)
{
	struct turns *turns = *state;

	post_two(turns);
	for (unsigned i = 1; i < TURNS_BURST_POSTS; i++)
		assert_int_equal(post(turns, false), TURNS_POST_WAITS);
	assert_int_not_equal(post(turns, false), TURNS_POST_WAITS);
	assert_int_equal(turns->posts, 0);
}

/* A program that answers has just looked for arrivals. */
static void test_an_answer_is_sent_without_a_look(void **state)
{
	struct turns *turns = *state;

	poll_once(turns, true);
	now_ns += TURNS_ANSWER_NS - 1;
	assert_int_equal(post(turns, false), TURNS_POST_SENDS);
	now_ns += TURNS_BURST_NS;
	assert_int_equal(post(turns, false), TURNS_POST_TURNS);
}

/* Of many requests in a row, few look for arrivals. */
static void test_requests_look_for_arrivals_now_and_then(void **state)
{
	struct turns *turns = *state;

	poll_once(turns, true);
	now_ns += TURNS_REQUEST_NS - 1;
	assert_false(turns_request_looks(turns, now_ns));
	now_ns++;
	assert_true(turns_request_looks(turns, now_ns));
}

static void test_a_program_that_comes_back_may_come_later(void **state)
{
	struct turns *turns = *state;

	post_and_poll(turns, TURNS_PUNCTUAL);
	post_two(turns);
	assert_int_equal(turns->due_ns, now_ns + TURNS_LEASE_NS);
}

static void be_late(struct turns *turns)
{
	post_two(turns);
	now_ns = turns->due_ns;
	poll_once(turns, false);
	now_ns += RNIC_NS_PER_MS;
}

static void test_a_late_turn_halves_the_trust(void **state)
{
	struct turns *turns = *state;

	post_and_poll(turns, TURNS_PUNCTUAL_MAX + 10);
	assert_int_equal(turns->punctual, TURNS_PUNCTUAL_MAX);
	be_late(turns);
	assert_int_equal(turns->punctual, TURNS_PUNCTUAL_MAX / 2);
	be_late(turns);
	be_late(turns);
	post_two(turns);
	assert_int_equal(turns->due_ns, now_ns + TURNS_POST_NS);
}

/* --- the alarm of the thread that sleeps on the lease ----------------------------------------- */

static void test_only_a_sleeping_thread_needs_a_timer(void **state)
{
	struct turns *turns = *state;

	assert_int_equal(turns_sleeper(turns), TURNS_SLEEPER_ON_LEASE);
	turns_begin_wait(turns);
	assert_int_equal(turns_sleeper(turns), TURNS_NOBODY);
	turns->sleepers = 1;
	assert_int_equal(turns_sleeper(turns), TURNS_SLEEPER_ON_DESCRIPTORS);
	turns->sleepers = 0;
	turns_end_wait(turns, now_ns);
	turns_note_lease_wake(turns);
	assert_int_equal(turns_sleeper(turns), TURNS_NOBODY);
}

/* As if the program had polled in time through so many leases. */
static void renew(struct turns *turns, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		poll_once(turns, false);
		turns_note_lease_wake(turns);
		turns_note_lease_sleep(turns);
	}
}

static void test_a_program_that_polls_on_moves_the_alarm_seldom(void **state)
{
	struct turns *turns = *state;
	uint64_t armed_ns = NEVER;
	unsigned settings = 0;

	renew(turns, TURNS_RENEWALS);
	for (unsigned i = 0; i < 10 * TURNS_LONG_SLEEP_NS / (10 * US); i++) {
		uint64_t alarm_ns;

		poll_once(turns, false);
		alarm_ns = turns_lease_alarm_ns(turns, armed_ns, now_ns);
		settings += alarm_ns != NEVER;
		armed_ns = alarm_ns != NEVER ? alarm_ns : armed_ns;
		assert_in_range(armed_ns, turns->lease_ns, turns->lease_ns + TURNS_LONG_SLEEP_NS);
		now_ns += 10 * US;
	}
	assert_in_range(settings, 10, 21);
}

static void test_a_program_that_comes_late_gets_no_long_sleep(void **state)
{
	struct turns *turns = *state;

	renew(turns, 10 * TURNS_RENEWALS);
	poll_once(turns, false);
	assert_true(turns_lease_alarm_ns(turns, NEVER, now_ns) > turns->lease_ns);
	now_ns += RNIC_NS_PER_MS;
	poll_once(turns, false);
	assert_int_equal(turns_lease_alarm_ns(turns, NEVER, now_ns), turns->lease_ns);
}

/* --- the watch -------------------------------------------------------------------------------- */

static void test_a_watch_begins_after_misses_in_a_row(void **state)
{
	struct turns *turns = *state;

	miss_an_arrival(turns);
	turns_note_threads_turn(turns, false, true, now_ns);
	miss_an_arrival(turns);
	assert_false(turns_are_watched(turns));
	miss_an_arrival(turns);
	assert_true(turns_are_watched(turns));
}

static void test_a_watch_ends_where_the_program_polls(void **state)
{
	struct turns *turns = *state;

	begin_watch(turns);
	meet_arrivals(turns, TURNS_TAKES - 1);
	assert_true(turns_are_watched(turns));
	meet_arrivals(turns, 1);
	assert_false(turns_are_watched(turns));
	assert_int_equal(turns->lease_ns, now_ns + TURNS_LEASE_NS);
}

static void test_a_watch_lasts_where_every_other_arrival_is_missed(void **state)
{
	struct turns *turns = *state;

	begin_watch(turns);
	for (unsigned i = 0; i < 100; i++) {
		meet_arrivals(turns, 1);
		miss_an_arrival(turns);
	}
	assert_true(turns_are_watched(turns));
}

/* --- looks ------------------------------------------------------------------------------------ */

static void test_when_to_look_at_the_descriptors(void **state)
{
	struct turns *turns = *state;

	turns_note_look(turns, now_ns);
	assert_false(turns_should_look(turns, false, false, now_ns));
	assert_true(turns_should_look(turns, false, true, now_ns));
	assert_true(turns_should_look(turns, true, false, now_ns + TURNS_LOOK_NS));
	turns_note_wake(turns);
	assert_true(turns_should_look(turns, false, false, now_ns));
	/* The arrival that the turn received is what has ended the sleep. */
	assert_false(turns_should_look(turns, true, false, now_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_states, set_up),
		cmocka_unit_test_setup(test_who_takes_the_turns, set_up),
		cmocka_unit_test_setup(test_bystanders_have_no_lease_beside_them, set_up),
		cmocka_unit_test_setup(test_a_program_that_waits_here_is_attended, set_up),
		cmocka_unit_test_setup(test_a_post_that_waits_is_due_soon, set_up),
		cmocka_unit_test_setup(test_posts_that_must_not_wait, set_up),
		cmocka_unit_test_setup(test_a_burst_has_a_turn_after_so_many, set_up),
		cmocka_unit_test_setup(test_an_answer_is_sent_without_a_look, set_up),
		cmocka_unit_test_setup(test_requests_look_for_arrivals_now_and_then, set_up),
		cmocka_unit_test_setup(test_a_program_that_comes_back_may_come_later, set_up),
		cmocka_unit_test_setup(test_a_late_turn_halves_the_trust, set_up),
		cmocka_unit_test_setup(test_only_a_sleeping_thread_needs_a_timer, set_up),
		cmocka_unit_test_setup(test_a_program_that_polls_on_moves_the_alarm_seldom, set_up),
		cmocka_unit_test_setup(test_a_program_that_comes_late_gets_no_long_sleep, set_up),
		cmocka_unit_test_setup(test_a_watch_begins_after_misses_in_a_row, set_up),
		cmocka_unit_test_setup(test_a_watch_ends_where_the_program_polls, set_up),
		cmocka_unit_test_setup(test_a_watch_lasts_where_every_other_arrival_is_missed,
				       set_up),
		cmocka_unit_test_setup(test_when_to_look_at_the_descriptors, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
