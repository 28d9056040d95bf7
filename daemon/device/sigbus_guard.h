/* SPDX-License-Identifier: MIT */
/*
 * Handles missing pages of shared memory. A page of a memfd that was never filled, or from which a
 * client punched a hole, is allocated at the first access. The allocation fails where the machine
 * has promised all its memory (vm.overcommit_memory=2), and the access raises SIGBUS. That must end
 * the client, not the daemon.
 *
 * A signal handler maps a page of the daemon in the place of the missing page, so that the access
 * goes on, and marks the session that owns the page. The handler works for the thread that serves
 * the one set of the process. That thread touches shared memory only where it is not changing a
 * list or table of sessions.
 */
#ifndef DAEMON_DEVICE_SIGBUS_GUARD_H
#define DAEMON_DEVICE_SIGBUS_GUARD_H

struct session_set;

/* Handles SIGBUS for `set` from now on. Negative errno: no page is available. */
int sigbus_guard_watch(struct session_set *set);

/* Stops handling SIGBUS: the signal ends the process again. */
void sigbus_guard_unwatch(void);

/* Breaks the sessions that lost memory since the last call. */
void sigbus_guard_break(struct session_set *set);

#endif
