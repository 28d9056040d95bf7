/* SPDX-License-Identifier: MIT */
/* A call that waits, and signals that come to the call in its sleep. */
#ifndef TESTS_INTEROP_WAITING_CALL_H
#define TESTS_INTEROP_WAITING_CALL_H

#include <stdbool.h>

/* One call that waits, of a program's own `station`. */
struct signal_case {
	const char *name;
	/* -1 and errno, or not negative when the call came back with what it waits for. */
	int (*call)(void *station);
	/* Makes what the call waits for happen. */
	void (*end)(void *station);
	bool never_restarts; /* a signal ends the call, whatever the handler's flags (signal(7)) */
	void (*prepare)(void *station); /* before the thread that waits begins; NULL: nothing */
	/*
	 * The call asks the daemon before it waits, and may sleep there, too. A signal that comes
	 * then is none that comes to the wait, as with connect(2).
	 */
	bool asks_daemon;
};

/*
 * Sends SIGUSR1 to a thread that waits in the call, three times or until the signal ends the call.
 * The handler has `flags`, SA_RESTART or 0. A handler of the other kind is there as well, and never
 * runs. Asserts that the call goes on after the handler, or ends with EINTR.
 */
void signal_call(const struct signal_case *waiting, void *station, int flags);

/*
 * Runs both kinds of handler as tests: `signal_all` signals all calls of the program, with handlers
 * of the flags SA_RESTART, then 0. Returns what main() returns.
 */
int run_signal_tests(void (*signal_all)(int flags));

#endif
