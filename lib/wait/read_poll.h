/* SPDX-License-Identifier: MIT */
/*
 * Polls as read(2) waits: poll(2) comes back for each handler of a signal that ran, read(2) goes on
 * after those that were set with SA_RESTART (signal(7)).
 *
 *     handlers of the program         the sleep
 *     none interrupts                 goes on after each signal
 *     none restarts                   ends with each signal
 *     of both kinds                   signals of restarting handlers stay blocked, and a signalfd
 *                                     tells of them: a sleep that a signal ends was ended by the
 *                                     other kind; the restarting handlers run after the sleep
 *
 * Signals of faults are never blocked.
 */
#ifndef LIB_WAIT_READ_POLL_H
#define LIB_WAIT_READ_POLL_H

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct read_poll {
	const atomic_uint
		*action_changes; /* counts the program's sigaction(2); NULL: none counts */
	sigset_t mask;		 /* of the thread while the thread sleeps */
	int restart_fd;		 /* a signalfd of one sleep; 0: none */
	unsigned looks;
};

/*
 * Polls until `deadline_ns` of the monotonic clock; 0 does not wait, UINT64_MAX waits for ever.
 * `wakes` has a place behind the `count` entries that the poll may use. Returns how many of the
 * entries are ready, 0 also where a restarting handler has run, or a negative errno; -EINTR: a
 * handler has run that ends read(2). A cancellation point: the caller calls read_poll_end() then.
 */
int read_poll(struct read_poll *poll, struct pollfd *wakes, nfds_t count, uint64_t deadline_ns);

/* Closes what a cancelled sleep has left. */
void read_poll_end(struct read_poll *poll);

/*
 * A single read_poll() of a thread that has blocked no signal for the wait. A cancelled thread
 * leaves nothing.
 */
int read_poll_once(struct pollfd *wakes, nfds_t count, uint64_t deadline_ns);

/*
 * Polls as ppoll(2) does, until `deadline_ns`. NULL for `mask` leaves the thread's own. Negative
 * errno.
 */
int poll_until(struct pollfd *wakes, nfds_t count, uint64_t deadline_ns, const sigset_t *mask);

/* Whether the program has a handler that ends read(2). `action_changes` as in struct read_poll. */
bool read_poll_can_interrupt(const atomic_uint *action_changes);

/* Fills `signals` with all that a wait may block: all but those of faults. */
void read_poll_blockable(sigset_t *signals);

#endif
