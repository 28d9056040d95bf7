/* SPDX-License-Identifier: MIT */
/* What a turn of the program does, and how long the device's thread sleeps meanwhile. */
#include "daemon/device/host_program/direct_turn.h"

#include "lib/wait/clock.h"
#include "tests/unit/daemon/device/host_program/fake_device.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

static uint64_t clock_ns;
static atomic_bool is_in_turn;

uint64_t __wrap_clock_now_ns(void);

uint64_t __wrap_clock_now_ns(void)
{
	return clock_ns;
}

static int set_up(void **state)
{
	static struct rnic_direct device;

	memset(&device, 0, sizeof(device));
	fake_device = (struct fake_device){.next_deadline_ns = UINT64_MAX};
	clock_ns = RNIC_NS_PER_SECOND;
	pthread_mutex_init(&device.lock, NULL);
	assert_int_equal(wake_timer_open(&device.timer), 0);
	assert_int_equal(wake_timer_open(&device.lease_timer), 0);
	device.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	device.is_open = true;
	device.turns.sleeps_on_lease = true;
	*state = &device;
	return 0;
}

static int tear_down(void **state)
{
	struct rnic_direct *direct = *state;

	close(direct->epoll_fd);
	close(direct->timer.fd);
	close(direct->lease_timer.fd);
	pthread_mutex_destroy(&direct->lock);
	return 0;
}

/* The first post has its turn at once, the second one waits. */
static void post_two(struct rnic_direct *direct)
{
	direct_device_turn(direct, 0);
	direct_device_turn(direct, 0);
	assert_int_equal(direct->turns.posts, 1);
}

static void post_and_poll(struct rnic_direct *direct, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		post_two(direct);
		direct_device_poll(direct);
		assert_int_equal(direct->turns.posts, 0);
		clock_ns += RNIC_NS_PER_MS;
	}
}

/* So the device's thread need not wake for them. */
static void a_post_behind_others_gives_them_their_turn(void **state)
{
	struct rnic_direct *direct = *state;
	const uint64_t step_ns = 2 * RNIC_NS_PER_US;

	post_two(direct);
	for (uint64_t i = 0; i < TURNS_POST_NS / 2 / step_ns; i++) {
		clock_ns += step_ns;
		direct_device_turn(direct, 0);
	}
	assert_true(direct->turns.posts > 0);
	clock_ns += step_ns;
	direct_device_turn(direct, 0);
	assert_int_equal(direct->turns.posts, 0);
	assert_int_equal(direct->turns.punctual, 0);
}

/* Without a lease the device's thread keeps watch, and is awake soon in any case. */
static void without_a_lease_a_deferred_post_is_due_soon(void **state)
{
	struct rnic_direct *direct = *state;

	post_and_poll(direct, TURNS_PUNCTUAL);
	direct->turns.state = TURNS_WATCHED;
	post_two(direct);
	assert_int_equal(direct->turns.due_ns, clock_ns + TURNS_POST_NS);
}

/* A thread that is awake looks at all deadlines before its next sleep. */
static void only_a_sleeping_thread_needs_the_timer(void **state)
{
	struct rnic_direct *direct = *state;

	direct->turns.sleeps_on_lease = false;
	post_two(direct);
	assert_int_equal(direct->timer.armed_ns, UINT64_MAX);
	direct->turns.sleepers = 1;
	direct_arm(direct, clock_ns);
	assert_int_equal(direct->timer.armed_ns, direct->turns.due_ns);
}

static void move_much(void)
{
	clock_ns += 2 * TURNS_LEASE_NS;
}

/* Otherwise the device's thread would be woken in each turn. */
static void a_lease_outlives_a_long_turn(void **state)
{
	struct rnic_direct *direct = *state;

	fake_device.has_work = true;
	fake_device.in_turn = move_much;
	direct_device_poll(direct);
	assert_int_equal(direct->turns.lease_ns, clock_ns + TURNS_LEASE_NS);
}

/* --- arrivals --------------------------------------------------------------------------------- */

static void an_answer_is_sent_without_a_look_for_arrivals(void **state)
{
	struct rnic_direct *direct = *state;

	direct_device_poll(direct);
	clock_ns += RNIC_NS_PER_US;
	direct_device_turn(direct, 0);
	assert_int_equal(fake_device.turns, 1);
	assert_int_equal(fake_device.turns_to_send, 1);
}

/* A program that posts and does not poll yet has its completions and acknowledgements in time. */
static void a_program_that_only_posts_receives(void **state)
{
	struct rnic_direct *direct = *state;

	for (unsigned i = 0; i < 100; i++) {
		clock_ns += RNIC_NS_PER_US;
		direct_device_turn(direct, RNIC_DIRECT_POST_WAKES);
	}
	assert_true(fake_device.turns >= 100 / 5);
}

/* --- the sleep of the device's thread on the lease -------------------------------------------- */

static void the_thread_looks_after_a_program_that_has_polled_briefly(void **state)
{
	struct rnic_direct *direct = *state;

	direct->turns.renewals = TURNS_RENEWALS - 1;
	direct_device_poll(direct);
	assert_int_equal(direct->lease_timer.armed_ns, clock_ns + TURNS_LEASE_NS);
	clock_ns += TURNS_LEASE_NS * 3 / 4;
	direct_device_poll(direct);
	assert_true(direct->lease_timer.armed_ns < direct->turns.lease_ns);
}

/* As if the program had polled in time through many leases. */
static void poll_for_long(struct rnic_direct *direct)
{
	direct_device_poll(direct);
	direct->turns.renewals = 10 * TURNS_RENEWALS;
	direct->lease_timer.armed_ns = UINT64_MAX;
	direct_device_poll(direct);
}

/* Of a program that does not always come back in time, a post must not wait for the long sleep. */
static void a_deferred_post_ends_the_long_sleep(void **state)
{
	struct rnic_direct *direct = *state;

	poll_for_long(direct);
	assert_true(direct->lease_timer.armed_ns > clock_ns + TURNS_LONG_SLEEP_NS);
	post_two(direct);
	assert_int_equal(direct->lease_timer.armed_ns, clock_ns + TURNS_POST_NS);
}

/* --- a watch of the device's thread ----------------------------------------------------------- */

/* A datagram comes long after the program has polled, and the device's thread receives it. */
static void miss_an_arrival(struct rnic_direct *direct)
{
	clock_ns += RNIC_NS_PER_MS;
	turns_note_threads_turn(&direct->turns, true, false, clock_ns);
}

/* The thread is faster now and then, but the program would have received. */
static void what_the_thread_takes_from_a_polling_program_counts(void **state)
{
	struct rnic_direct *direct = *state;

	direct->turns.state = TURNS_WATCHED;
	fake_device.arrivals = 0;
	for (unsigned i = 0; i < 16; i++) {
		clock_ns += RNIC_NS_PER_US;
		direct_device_poll(direct);
		turns_note_threads_turn(&direct->turns, true, false, clock_ns);
	}
	assert_false(turns_are_watched(&direct->turns));
}

/* A program with many completions takes long turns. */
static void a_busy_program_is_there(void **state)
{
	struct rnic_direct *direct = *state;

	direct->turns.state = TURNS_WATCHED;
	fake_device.has_work = true;
	fake_device.in_turn = move_much;
	for (unsigned i = 0; i < 8; i++) {
		direct_device_poll(direct);
		turns_note_threads_turn(&direct->turns, true, false, clock_ns);
	}
	assert_int_equal(direct->turns.takes, 8);
	miss_an_arrival(direct);
	assert_int_equal(direct->turns.takes, 4);
}

/* --- the program's exit ----------------------------------------------------------------------- */

static void an_exit_sends_what_waits(void **state)
{
	struct rnic_direct *direct = *state;

	post_two(direct);
	direct_device_end_waits(direct);
	assert_int_equal(direct->turns.posts, 0);
	assert_int_equal(fake_device.farewells, 1);
}

/* A thread that has lost its processor in the midst of a turn. */
static void *take_a_long_turn(void *context)
{
	struct rnic_direct *direct = context;

	pthread_mutex_lock(&direct->lock);
	atomic_store(&is_in_turn, true);
	poll(NULL, 0, 50);
	pthread_mutex_unlock(&direct->lock);
	return NULL;
}

static void an_exit_waits_for_the_turn_of_another_thread(void **state)
{
	struct rnic_direct *direct = *state;
	pthread_t thread;

	atomic_store(&is_in_turn, false);
	assert_int_equal(pthread_create(&thread, NULL, take_a_long_turn, direct), 0);
	while (!atomic_load(&is_in_turn))
		sched_yield();
	direct_device_end_waits(direct);
	assert_int_equal(fake_device.farewells, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The program exits from a signal handler, in the midst of a turn. */
static void an_exit_within_a_turn_sends_nothing(void **state)
{
	struct rnic_direct *direct = *state;

	pthread_mutex_lock(&direct->lock);
	direct_device_end_waits(direct);
	pthread_mutex_unlock(&direct->lock);
	assert_int_equal(fake_device.turns, 0);
	assert_int_equal(fake_device.farewells, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_post_behind_others_gives_them_their_turn, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_a_lease_a_deferred_post_is_due_soon, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(only_a_sleeping_thread_needs_the_timer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_lease_outlives_a_long_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_is_sent_without_a_look_for_arrivals,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_program_that_only_posts_receives, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			the_thread_looks_after_a_program_that_has_polled_briefly, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_deferred_post_ends_the_long_sleep, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_the_thread_takes_from_a_polling_program_counts,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_busy_program_is_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_exit_sends_what_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_exit_waits_for_the_turn_of_another_thread,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_exit_within_a_turn_sends_nothing, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
