/* SPDX-License-Identifier: MIT */
/* The order in which a loop calls its owner, on the real clock: nothing here waits for long. */
#include "daemon/shared/loop/loop.h"
#include "lib/wait/clock.h"
#include "proto/base/time_units.h"
#include "tests/unit/unit_test.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TURNS_AT_MOST 1000000

/* An owner that counts its calls. */
static struct owner {
	struct loop *loop;
	int event_fd;
	unsigned turns, busy_turns; /* so many turns at first are busy */
	unsigned looks, busy_looks, tells, attempts, wakes, events;
	uint64_t deadline_ns; /* from the question on; UINT64_MAX: never */
	bool is_awaited;
	bool may_sleep;
	bool stops_at_deadline;
	bool rings; /* makes an event between an attempt to sleep and the sleep */
	unsigned wakes_to_stop;
	int signal;
} owner;

static bool owner_turn(void *context, uint64_t now_ns)
{
	assert_ptr_equal(context, &owner);
	assert_true(now_ns > 0);
	assert_true(++owner.turns < TURNS_AT_MOST);
	return owner.turns <= owner.busy_turns;
}

static bool owner_should_look(void *context, bool was_busy, uint64_t since_look_ns, uint64_t now_ns)
{
	(void)context;
	(void)since_look_ns;
	(void)now_ns;
	owner.busy_looks += was_busy;
	owner.looks += !was_busy;
	return true;
}

static uint64_t owner_deadline_ns(void *context, uint64_t now_ns)
{
	(void)context;
	if (owner.stops_at_deadline)
		loop_stop(owner.loop);
	return owner.deadline_ns == UINT64_MAX ? UINT64_MAX : now_ns + owner.deadline_ns;
}

static bool owner_is_awaited(void *context)
{
	(void)context;
	return owner.is_awaited;
}

static void owner_tell(void *context, uint64_t now_ns)
{
	(void)context;
	(void)now_ns;
	owner.tells++;
}

static bool owner_try_sleep(void *context, uint64_t now_ns)
{
	(void)context;
	(void)now_ns;
	owner.attempts++;
	if (owner.rings)
		assert_int_equal(eventfd_write(owner.event_fd, 1), 0);
	return owner.may_sleep;
}

static void owner_wake(void *context)
{
	(void)context;
	if (++owner.wakes == owner.wakes_to_stop)
		loop_stop(owner.loop);
}

static void owner_on_event(void *context)
{
	eventfd_t value;

	(void)context;
	owner.events++;
	assert_int_equal(eventfd_read(owner.event_fd, &value), 0);
	loop_stop(owner.loop);
}

static void owner_on_signal(void *context, int number)
{
	(void)context;
	owner.signal = number;
	loop_stop(owner.loop);
}

static const struct loop_calls calls = {
	.turn = owner_turn,
	.should_look = owner_should_look,
	.deadline_ns = owner_deadline_ns,
	.is_awaited = owner_is_awaited,
	.tell = owner_tell,
	.try_sleep = owner_try_sleep,
	.wake = owner_wake,
};

static int set_up_for(enum poll_mode mode)
{
	owner = (struct owner){
		.deadline_ns = UINT64_MAX, .is_awaited = true, .may_sleep = true, .rings = true};
	owner.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	owner.loop = loop_create(&calls, awake_rule_of(AWAKE_DEVICE_PROCESS, mode), &owner);
	loop_watch(owner.loop, owner.event_fd, false, owner_on_event);
	return owner.loop == NULL ? -1 : 0;
}

static int set_up(void **state)
{
	(void)state;
	return set_up_for(POLL_ADAPTIVE);
}

static int set_up_asleep(void **state)
{
	(void)state;
	return set_up_for(POLL_SLEEP);
}

static int set_up_busy(void **state)
{
	(void)state;
	return set_up_for(POLL_BUSY);
}

static int tear_down(void **state)
{
	(void)state;
	loop_destroy(owner.loop);
	close(owner.event_fd);
	return 0;
}

static void test_a_descriptor_ends_the_sleep(void **state)
{
	(void)state;
	loop_run(owner.loop);
	assert_int_equal(owner.events, 1);
	assert_int_equal(owner.attempts, 1);
	assert_int_equal(owner.wakes, 1);
	assert_true(owner.tells >= 1);
}

static void test_a_deadline_ends_the_sleep(void **state)
{
	const uint64_t began_ns = clock_now_ns();

	(void)state;
	owner.rings = false;
	owner.deadline_ns = RNIC_NS_PER_MS;
	owner.wakes_to_stop = 3;
	loop_run(owner.loop);
	assert_true(clock_now_ns() - began_ns >= 3 * RNIC_NS_PER_MS);
	assert_int_equal(owner.attempts, 3);
}

static void test_a_signal_ends_the_sleep(void **state)
{
	(void)state;
	owner.rings = false;
	loop_watch_signal(owner.loop, SIGUSR1, owner_on_signal);
	raise(SIGUSR1);
	loop_run(owner.loop);
	assert_int_equal(owner.signal, SIGUSR1);
}

/* A loop that works looks at the descriptors as often as its owner says, and does not sleep. */
static void test_work_goes_before_sleep(void **state)
{
	(void)state;
	owner.busy_turns = 100;
	loop_run(owner.loop);
	assert_int_equal(owner.busy_looks, 100);
	assert_true(owner.turns > 100);
}

/* Behind work the loop stays awake for a while, and looks meanwhile, unless yields cost too much.
 */
static void test_it_stays_awake_behind_work(void **state)
{
	const uint64_t began_ns = clock_now_ns();

	(void)state;
	owner.busy_turns = 1;
	loop_run(owner.loop);
	assert_true(owner.looks > 0);
	assert_true(clock_now_ns() - began_ns >= awake_rules[AWAKE_DEVICE_PROCESS].awake_ns);
}

static void test_nobody_waits_for_a_loop_that_is_not_awaited(void **state)
{
	(void)state;
	owner.busy_turns = 1;
	owner.is_awaited = false;
	loop_run(owner.loop);
	assert_int_equal(owner.looks, 0);
	assert_int_equal(owner.turns, 2);
}

static void test_it_sleeps_at_once_where_it_must_not_poll(void **state)
{
	(void)state;
	owner.busy_turns = 1;
	loop_run(owner.loop);
	assert_int_equal(owner.turns, 2);
	assert_int_equal(owner.attempts, 1);
}

/* A busy loop takes the event by a look. */
static void test_a_busy_loop_never_sleeps(void **state)
{
	(void)state;
	assert_int_equal(eventfd_write(owner.event_fd, 1), 0);
	loop_run(owner.loop);
	assert_int_equal(owner.events, 1);
	assert_int_equal(owner.attempts, 0);
}

static void test_work_that_came_meanwhile_forbids_the_sleep(void **state)
{
	(void)state;
	owner.may_sleep = false;
	owner.rings = false;
	owner.wakes_to_stop = 3;
	loop_run(owner.loop);
	assert_int_equal(owner.attempts, 3);
	assert_int_equal(owner.wakes, 3);
	assert_int_equal(owner.events, 0);
}

static void test_a_near_deadline_forbids_the_sleep(void **state)
{
	(void)state;
	owner.deadline_ns = awake_rules[AWAKE_DEVICE_PROCESS].near_ns / 2;
	assert_int_equal(eventfd_write(owner.event_fd, 1), 0);
	loop_run(owner.loop);
	assert_int_equal(owner.attempts, 0);
	assert_int_equal(owner.events, 1);
}

static void test_the_owner_may_end_it_instead_of_sleeping(void **state)
{
	(void)state;
	owner.stops_at_deadline = true;
	loop_run(owner.loop);
	assert_int_equal(owner.attempts, 0);
}

#define TEST(name, set_up) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_descriptor_ends_the_sleep, set_up),
		TEST(test_a_deadline_ends_the_sleep, set_up),
		TEST(test_a_signal_ends_the_sleep, set_up),
		TEST(test_work_goes_before_sleep, set_up),
		TEST(test_it_stays_awake_behind_work, set_up),
		TEST(test_nobody_waits_for_a_loop_that_is_not_awaited, set_up),
		TEST(test_it_sleeps_at_once_where_it_must_not_poll, set_up_asleep),
		TEST(test_a_busy_loop_never_sleeps, set_up_busy),
		TEST(test_work_that_came_meanwhile_forbids_the_sleep, set_up_asleep),
		TEST(test_a_near_deadline_forbids_the_sleep, set_up_asleep),
		TEST(test_the_owner_may_end_it_instead_of_sleeping, set_up_asleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
