/* SPDX-License-Identifier: MIT */
/*
 * Shared memory that cannot be had. A page of a memfd that was never filled, or out of which a
 * client punched a hole, comes to be when it is touched. Where the machine has promised all the
 * memory that it has (vm.overcommit_memory=2) it does not, and who touches it gets SIGBUS: that is
 * the end of a client, and not of the daemon.
 *
 * A handler puts a page of ours into the place of the one that is missing, so that the access goes
 * on, and notes whose it is. It is for the thread that serves the one set of the process, which
 * touches shared memory only where no list or table of sessions is being changed.
 */
#ifndef DAEMON_DEVICE_SIGBUS_GUARD_H
#define DAEMON_DEVICE_SIGBUS_GUARD_H

struct session_set;

/* Handles SIGBUS for `set` from now on. Negative errno: there is no page to be had. */
int sigbus_guard_watch(struct session_set *set);

/* No longer: SIGBUS ends the process. */
void sigbus_guard_unwatch(void);

/* Breaks the sessions whose memory was lost since the last call. */
void sigbus_guard_break(struct session_set *set);

#endif
