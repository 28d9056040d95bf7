/* SPDX-License-Identifier: MIT */
#include "lib/wait/wake_timer.h"

#include "lib/wait/clock.h"
#include "proto/base/time_units.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <unistd.h>

#define HOUR_NS (3600 * RNIC_NS_PER_SECOND)

static int has_fired(const struct wake_timer *timer, int timeout_ms)
{
	struct pollfd news = {.fd = timer->fd, .events = POLLIN};

	return poll(&news, 1, timeout_ms);
}

static void test_an_earlier_deadline_moves_the_timer(void **state)
{
	struct wake_timer timer;

	(void)state;
	assert_int_equal(wake_timer_open(&timer), 0);
	wake_timer_arm(&timer, UINT64_MAX, 1);
	assert_int_equal(timer.armed_ns, UINT64_MAX);
	wake_timer_arm(&timer, clock_now_ns() + HOUR_NS, 1);
	const uint64_t armed_ns = timer.armed_ns;
	wake_timer_arm(&timer, armed_ns + 1, 1);
	assert_int_equal(timer.armed_ns, armed_ns);
	wake_timer_arm(&timer, armed_ns - 1, 1);
	assert_int_equal(timer.armed_ns, armed_ns - 1);
	assert_int_equal(has_fired(&timer, 0), 0);
	close(timer.fd);
}

static void test_a_time_that_has_passed_is_armed_anew(void **state)
{
	struct wake_timer timer;

	(void)state;
	assert_int_equal(wake_timer_open(&timer), 0);
	wake_timer_arm(&timer, 5, 1);
	wake_timer_arm(&timer, clock_now_ns() + HOUR_NS, 5);
	assert_true(timer.armed_ns > HOUR_NS);
	assert_int_equal(has_fired(&timer, 0), 0);
	close(timer.fd);
}

static void test_what_has_fired_is_taken_once(void **state)
{
	struct wake_timer timer;

	(void)state;
	assert_int_equal(wake_timer_open(&timer), 0);
	wake_timer_set(&timer, clock_now_ns() + HOUR_NS);
	wake_timer_take(&timer);
	assert_int_not_equal(timer.armed_ns, UINT64_MAX);
	wake_timer_set(&timer, 1);
	assert_int_equal(has_fired(&timer, 10000), 1);
	wake_timer_take(&timer);
	assert_int_equal(timer.armed_ns, UINT64_MAX);
	assert_int_equal(has_fired(&timer, 0), 0);
	close(timer.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_earlier_deadline_moves_the_timer),
		cmocka_unit_test(test_a_time_that_has_passed_is_armed_anew),
		cmocka_unit_test(test_what_has_fired_is_taken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
