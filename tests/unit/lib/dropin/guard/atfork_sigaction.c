/* SPDX-License-Identifier: MIT */
/*
 * A library that stands behind the guard in LD_PRELOAD. Its constructor runs before the guard's, so
 * its fork handlers surround the guard's. Each of them sets an action.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static void before_fork(void)
{
	signal(SIGBUS, SIG_IGN);
}

/* The signal mask is the caller's, and not one of the guard's. */
static void after_fork_in_parent(void)
{
	sigset_t mask;

	if (pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR1) == 0)
		signal(SIGBUS, SIG_DFL);
}

static void after_fork_in_child(void)
{
	struct sigaction action;

	if (sigaction(SIGSEGV, NULL, &action) == 0)
		sigaction(SIGBUS, &action, NULL);
}

static __attribute__((constructor)) void register_handlers(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
