/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit_test.h"

#include <rnic/rnic.h>

#include <poll.h>
#include <sched.h>
#include <time.h>

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S  (1000 * MS)

/* A clock that yields and sleeps move, and one descriptor, which is ready at some time. */
static struct {
	uint64_t now_ns;
	uint64_t ready_ns;
	uint64_t yield_ns; /* of one yield */
	int yields;
	int sleeps;
	int poll_errno;
} world;

/* --- instead of the C library's --------------------------------------------------------------- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){.tv_sec = (time_t)(world.now_ns / S),
				 .tv_nsec = (long)(world.now_ns % S)};
	return 0;
}

int sched_yield(void)
{
	world.yields++;
	world.now_ns += world.yield_ns;
	return 0;
}

int poll(struct pollfd *descriptors, nfds_t count, int timeout_ms)
{
	(void)descriptors;
	(void)count;
	if (world.poll_errno != 0) {
		errno = world.poll_errno;
		return -1;
	}
	if (world.now_ns >= world.ready_ns)
		return 1;
	if (timeout_ms == 0)
		return 0;
	world.sleeps++;
	world.now_ns = world.ready_ns;
	return 1;
}

/* --- scenarios -------------------------------------------------------------------------------- */

/* A wait for an event after `after_ns`. */
static int wait_for(uint64_t after_ns, int timeout_ms)
{
	struct pollfd descriptor = {.events = POLLIN};

	world.yields = 0;
	world.sleeps = 0;
	world.ready_ns = world.now_ns + after_ns;
	return rnic_wait(NULL, &descriptor, 1, timeout_ms);
}

/* Long after all that earlier tests did. */
static int set_up(void **state)
{
	(void)state;
	world.now_ns += 3600 * S;
	world.yield_ns = US;
	world.poll_errno = 0;
	return wait_for(0, -1) == 1 ? 0 : -1;
}

static void test_soon_is_met_awake(void **state)
{
	(void)state;
	assert_int_equal(wait_for(3 * US, -1), 1);
	assert_int_equal(world.yields, 3);
	assert_int_equal(world.sleeps, 0);
}

static void test_what_is_there_takes_no_turn(void **state)
{
	(void)state;
	assert_int_equal(wait_for(0, -1), 1);
	assert_int_equal(world.yields, 0);
}

static void test_without_time_nobody_waits(void **state)
{
	(void)state;
	assert_int_equal(wait_for(US, 0), 0);
	assert_int_equal(world.yields + world.sleeps, 0);
}

static void test_later_is_slept_for(void **state)
{
	(void)state;
	assert_int_equal(wait_for(200 * US, -1), 1);
	assert_int_equal(world.yields, 50);
	assert_int_equal(world.sleeps, 1);
}

/* A thread that waited long sleeps at once the next time, until a wait turns out to be short. */
static void test_the_last_wait_is_what_to_expect(void **state)
{
	(void)state;
	assert_int_equal(wait_for(10 * MS, -1), 1);
	assert_true(world.yields > 0);
	assert_int_equal(wait_for(20 * US, -1), 1);
	assert_int_equal(world.yields, 0);
	assert_int_equal(wait_for(20 * US, -1), 1);
	assert_int_equal(world.yields, 20);
	assert_int_equal(world.sleeps, 0);
}

/* A thread does not yield twice to a thread that computes (awake.h). */
static void test_a_dear_yield_ends_it(void **state)
{
	(void)state;
	world.yield_ns = MS;
	assert_int_equal(wait_for(5 * MS, -1), 1);
	assert_int_equal(world.yields, 1);
	assert_int_equal(world.sleeps, 1);
}

static void test_signals_are_told(void **state)
{
	(void)state;
	world.poll_errno = EINTR;
	assert_int_equal(wait_for(US, -1), -EINTR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_soon_is_met_awake, set_up),
		cmocka_unit_test_setup(test_what_is_there_takes_no_turn, set_up),
		cmocka_unit_test_setup(test_without_time_nobody_waits, set_up),
		cmocka_unit_test_setup(test_later_is_slept_for, set_up),
		cmocka_unit_test_setup(test_the_last_wait_is_what_to_expect, set_up),
		cmocka_unit_test_setup(test_a_dear_yield_ends_it, set_up),
		cmocka_unit_test_setup(test_signals_are_told, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
