/* SPDX-License-Identifier: MIT */
#include "tests/interop/waiting_call.h"

#include "tests/unit/thread_state.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGNALS_MAX 1000 /* to a call that asks the daemon first, which may be slow */

struct waiter {
	const struct signal_case *waiting;
	void *station;
	atomic_int tid;
	atomic_bool has_ended;
	sem_t may_leave; /* the thread stays, so that it can be looked at and signalled */
	int result;
	int error;
};

static atomic_uint signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static void *wait_in_call(void *argument)
{
	struct waiter *waiter = argument;

	atomic_store(&waiter->tid, (int)syscall(SYS_gettid));
	errno = 0;
	waiter->result = waiter->waiting->call(waiter->station);
	waiter->error = errno;
	atomic_store(&waiter->has_ended, true);
	while (sem_wait(&waiter->may_leave) != 0)
		;
	return NULL;
}

/* Returns whether the thread sleeps; false: its call has ended. */
static bool falls_asleep(struct waiter *waiter)
{
	unsigned asleep = 0;

	for (unsigned i = 0; i < 2000 && asleep < 3; i++) {
		const int tid = atomic_load(&waiter->tid);

		poll(NULL, 0, 2);
		if (atomic_load(&waiter->has_ended))
			return false;
		asleep = tid != 0 && thread_is_asleep(tid) ? asleep + 1 : 0;
	}
	assert_int_equal(asleep, 3);
	return true;
}

static void await_sleep_of(struct waiter *waiter)
{
	assert_true(falls_asleep(waiter));
}

static void set_handlers(int flags)
{
	const struct sigaction own = {.sa_handler = count_signal, .sa_flags = flags};
	const struct sigaction other = {.sa_handler = count_signal, .sa_flags = SA_RESTART ^ flags};

	assert_int_equal(sigaction(SIGUSR1, &own, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, &other, NULL), 0);
}

static void send_signal(pthread_t thread)
{
	const unsigned before = signals;

	assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
	for (unsigned ms = 0; ms < 5000 && signals == before; ms++)
		poll(NULL, 0, 1);
	assert_int_equal(signals, before + 1);
}

/* One signal ends the call, or the first that comes when the call has asked the daemon. */
static void interrupt(struct waiter *waiter, pthread_t thread)
{
	const unsigned most = waiter->waiting->asks_daemon ? SIGNALS_MAX : 1;

	await_sleep_of(waiter);
	for (unsigned i = 0; i < most; i++) {
		send_signal(thread);
		if (most > 1 && !falls_asleep(waiter))
			return;
	}
	if (most > 1)
		fail_msg("%u signals have not ended %s", most, waiter->waiting->name);
}

void signal_call(const struct signal_case *waiting, void *station, int flags)
{
	const bool goes_on = flags != 0 && !waiting->never_restarts;
	struct waiter waiter = {.waiting = waiting, .station = station};
	pthread_t thread;

	set_handlers(flags);
	assert_int_equal(sem_init(&waiter.may_leave, 0, 0), 0);
	if (waiting->prepare != NULL)
		waiting->prepare(station);
	assert_int_equal(pthread_create(&thread, NULL, wait_in_call, &waiter), 0);
	if (!goes_on)
		interrupt(&waiter, thread);
	for (unsigned i = 0; goes_on && i < 3; i++) {
		await_sleep_of(&waiter);
		send_signal(thread);
	}
	if (goes_on) {
		await_sleep_of(&waiter);
		waiting->end(station);
	}
	sem_post(&waiter.may_leave);
	pthread_join(thread, NULL);
	sem_destroy(&waiter.may_leave);
	print_message("%s, %s: %d (%s)\n", waiting->name, flags != 0 ? "SA_RESTART" : "none",
		      waiter.result, waiter.result < 0 ? strerror(waiter.error) : "done");
	if (goes_on)
		assert_true(waiter.result >= 0);
	else
		assert_true(waiter.result == -1 && waiter.error == EINTR);
}

static void (*signal_all_calls)(int flags);

static void a_call_goes_on_after_a_handler_that_restarts(void **state)
{
	(void)state;
	signal_all_calls(SA_RESTART);
}

static void a_call_ends_after_a_handler_that_does_not(void **state)
{
	(void)state;
	signal_all_calls(0);
}

int run_signal_tests(void (*signal_all)(int flags))
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_goes_on_after_a_handler_that_restarts),
		cmocka_unit_test(a_call_ends_after_a_handler_that_does_not),
	};

	signal_all_calls = signal_all;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
