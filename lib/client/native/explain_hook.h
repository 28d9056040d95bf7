/* SPDX-License-Identifier: MIT */
/*
 * RNIC_EXPLAIN: a program that ends with a failure runs rnicctl, which tells what the device knows
 * of the program, while the device still knows. The value is 1, for the rnicctl on the PATH and
 * standard error; or RNICCTL or RNICCTL:FILE, absolute paths, as rnic-run has them. FILE is one
 * without a name, as memfd_create(2) makes them.
 *
 * The hook sees exit() with a status that is not 0, and signals that end the program and for which
 * the program has no handler when a device opens: SIGHUP, SIGINT, SIGQUIT, SIGALRM, SIGTERM,
 * SIGABRT. Not SIGKILL, _exit(), nor faults of memory, whose handlers others need. The program ends
 * as without the hook, EXPLAIN_SECONDS later at most.
 */
#ifndef LIB_CLIENT_NATIVE_EXPLAIN_HOOK_H
#define LIB_CLIENT_NATIVE_EXPLAIN_HOOK_H

#include <signal.h>
#include <unistd.h>

enum { EXPLAIN_SECONDS = 2 };

/* Puts the hook in place, once, where the variable asks; the device is that of `socket_path`,
 * as in rnic_open(). */
void rnic_explain_hook_set(const char *socket_path);

/*
 * In a child that becomes rnicctl, and whose parent had blocked signals: the alarm ends rnicctl
 * when it hangs, and no other signal does. timeout(1) signals the program and then the whole
 * process group, where the explanation may be under way by then.
 */
static inline void rnic_explain_bound(void)
{
	sigset_t blocked;

	signal(SIGALRM, SIG_DFL);
	sigfillset(&blocked);
	sigdelset(&blocked, SIGALRM);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	alarm(EXPLAIN_SECONDS);
}

#endif
