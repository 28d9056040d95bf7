/* SPDX-License-Identifier: MIT */
#include "lib/wait/quiet_thread.h"

#include "tests/unit/unit_test.h"

#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <signal.h>

#define STACK_BYTES ((size_t)1 << 20)

struct seen {
	sigset_t mask;
	size_t stack_bytes;
	int detach_state;
	sem_t is_there;
};

static void *look_around(void *context)
{
	struct seen *seen = context;
	pthread_attr_t attributes;
	void *stack;

	pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &stack, &seen->stack_bytes);
	pthread_attr_getdetachstate(&attributes, &seen->detach_state);
	pthread_attr_destroy(&attributes);
	sem_post(&seen->is_there);
	return context;
}

static void expect_quiet(const struct seen *seen)
{
	const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGALRM, SIGSEGV, SIGCHLD, SIGRTMIN};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		assert_int_equal(sigismember(&seen->mask, signals[i]), 1);
}

static void a_thread_to_join_blocks_all_signals(void **state)
{
	struct seen seen = {.detach_state = -1};
	sigset_t before = {0}, after = {0}; /* the kernel sets the first bytes alone */
	pthread_t thread;
	void *result;

	(void)state;
	sem_init(&seen.is_there, 0, 0);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(quiet_thread_start(&thread, STACK_BYTES, look_around, &seen), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &seen);
	expect_quiet(&seen);
	assert_int_equal(seen.detach_state, PTHREAD_CREATE_JOINABLE);
	assert_int_equal(seen.stack_bytes, STACK_BYTES);
}

static void a_thread_that_nobody_joins_is_detached(void **state)
{
	struct seen seen = {.detach_state = -1};

	(void)state;
	sem_init(&seen.is_there, 0, 0);
	assert_int_equal(quiet_thread_start(NULL, 0, look_around, &seen), 0);
	while (sem_wait(&seen.is_there) != 0)
		;
	expect_quiet(&seen);
	assert_int_equal(seen.detach_state, PTHREAD_CREATE_DETACHED);
}

static void a_stack_is_never_too_small(void **state)
{
	struct seen seen = {.detach_state = -1};
	pthread_t thread;

	(void)state;
	sem_init(&seen.is_there, 0, 0);
	assert_int_equal(quiet_thread_start(&thread, 1, look_around, &seen), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(seen.stack_bytes >= (size_t)PTHREAD_STACK_MIN);
}

/* No address space is left for the stack. */
static void a_thread_that_cannot_start_is_an_error(void **state)
{
	struct seen seen = {.detach_state = -1};
	sigset_t before = {0}, after = {0}; /* the kernel sets the first bytes alone */
	pthread_t thread = pthread_self();

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(quiet_thread_start(&thread, SIZE_MAX / 4, look_around, &seen), -EAGAIN);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_true(pthread_equal(thread, pthread_self()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_to_join_blocks_all_signals),
		cmocka_unit_test(a_thread_that_nobody_joins_is_detached),
		cmocka_unit_test(a_stack_is_never_too_small),
		cmocka_unit_test(a_thread_that_cannot_start_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
