/* SPDX-License-Identifier: MIT */
#include "lib/wait/read_poll.h"

#include "lib/wait/clock.h"
#include "proto/base/time_units.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* SIGALRM and SIGUSR1 have handlers; the flags are a test's. */
static unsigned alarms;

static void count_alarm(int number)
{
	(void)number;
	alarms++;
}

static void set_handler(int signal, int flags)
{
	const struct sigaction action = {.sa_handler = count_alarm, .sa_flags = flags};

	assert_int_equal(sigaction(signal, &action, NULL), 0);
}

static void clear_handler(int signal)
{
	const struct sigaction action = {.sa_handler = SIG_DFL};

	assert_int_equal(sigaction(signal, &action, NULL), 0);
}

/* Polls an empty pipe for 200 ms, while an alarm rings after 20 ms. */
static int poll_through_alarm(const atomic_uint *changes)
{
	const struct itimerval timer = {.it_value.tv_usec = 20000};
	const uint64_t deadline_ns = clock_now_ns() + 200 * RNIC_NS_PER_MS;
	struct read_poll poll = {.action_changes = changes};
	struct pollfd wakes[2] = {{.events = POLLIN}};
	int ready = 0, ends[2];

	assert_int_equal(pipe(ends), 0);
	wakes[0].fd = ends[0];
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &poll.mask), 0);
	alarms = 0;
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
	while (ready == 0 && clock_now_ns() < deadline_ns)
		ready = read_poll(&poll, wakes, 1, deadline_ns);
	assert_int_equal(poll.restart_fd, 0);
	assert_int_equal(alarms, 1);
	close(ends[0]);
	close(ends[1]);
	return ready;
}

static void test_a_poll_ends_as_read_does(void **state)
{
	static const struct {
		int alarm, other;
		int result;
	} rows[] = {
		{SA_RESTART, SA_RESTART, 0},
		{SA_RESTART, 0, 0},
		{0, SA_RESTART, -EINTR},
		{0, 0, -EINTR},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		atomic_uint changes = i + 1;

		set_handler(SIGALRM, rows[i].alarm);
		set_handler(SIGUSR1, rows[i].other);
		assert_int_equal(poll_through_alarm(&changes), rows[i].result);
	}
	clear_handler(SIGUSR1);
}

/* Nobody counts: the poll itself finds the handler that was set a moment ago. */
static void test_a_new_handler_is_found(void **state)
{
	(void)state;
	set_handler(SIGALRM, SA_RESTART);
	assert_int_equal(poll_through_alarm(NULL), 0);
	set_handler(SIGALRM, 0);
	assert_int_equal(poll_through_alarm(NULL), -EINTR);
}

/* A handler that would end read(2), of a signal that the thread has blocked, ends nothing. */
static void test_a_blocked_signal_ends_nothing(void **state)
{
	atomic_uint changes = 100;
	sigset_t blocked;

	(void)state;
	set_handler(SIGALRM, SA_RESTART);
	set_handler(SIGUSR1, 0);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	raise(SIGUSR1);
	assert_int_equal(poll_through_alarm(&changes), 0);
	pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
	clear_handler(SIGUSR1);
}

static void test_what_is_ready_is_told(void **state)
{
	struct read_poll poll = {.restart_fd = 0};
	struct pollfd wakes[2] = {{.events = POLLIN}};
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	wakes[0].fd = ends[0];
	assert_int_equal(read_poll(&poll, wakes, 1, 0), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(read_poll(&poll, wakes, 1, UINT64_MAX), 1);
	assert_int_equal(wakes[0].revents, POLLIN);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_poll_ends_as_read_does),
		cmocka_unit_test(test_a_new_handler_is_found),
		cmocka_unit_test(test_a_blocked_signal_ends_nothing),
		cmocka_unit_test(test_what_is_ready_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
