/* SPDX-License-Identifier: MIT */
/*
 * The loop of a program of the daemon: runs turn after turn while there is something to do, and
 * otherwise does what awake.h says: yields for a while, and sleeps until a descriptor is ready or a
 * deadline comes. One libev loop watches all descriptors, and is polled only now and then while
 * there is work, so that a busy turn costs no system call of the loop.
 *
 * Invariant: the loop sleeps only where `try_sleep` allows it, and calls `wake` after each attempt.
 */
#ifndef DAEMON_SHARED_LOOP_LOOP_H
#define DAEMON_SHARED_LOOP_LOOP_H

#include "lib/wait/awake.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* What the owner of a loop does, in the loop's thread. Those after `deadline_ns` may be NULL. */
struct loop_calls {
	/* Runs a turn. Returns whether there was, or is, something to do. */
	bool (*turn)(void *context, uint64_t now_ns);
	/*
	 * Whether to poll the descriptors behind a turn that `was_busy`, without waiting. The last
	 * poll was `since_look_ns` ago.
	 */
	bool (*should_look)(void *context, bool was_busy, uint64_t since_look_ns, uint64_t now_ns);
	/* When there is something to do again; UINT64_MAX: never. It may stop the loop. */
	uint64_t (*deadline_ns)(void *context, uint64_t now_ns);
	/* Whether somebody may wait for what the loop does. False: the loop sleeps at once. */
	bool (*is_awaited)(void *context);
	/* Tells others what has changed, before a poll and before a sleep. */
	void (*tell)(void *context, uint64_t now_ns);
	/*
	 * Asks to be woken. False: there is work, and the loop must not sleep. `wake` withdraws the
	 * request; both are there, or none.
	 */
	bool (*try_sleep)(void *context, uint64_t now_ns);
	void (*wake)(void *context);
};

/* Makes a loop with this rule. `calls` outlives the loop. NULL: no memory, or no descriptors. */
struct loop *loop_create(const struct loop_calls *calls, struct awake_rule rule, void *context);
void loop_destroy(struct loop *loop);

/*
 * Watches a descriptor, until the loop is destroyed. `call` runs when the descriptor is ready;
 * NULL: readiness only ends the sleep. At most 80 descriptors: others are not watched.
 */
void loop_watch(struct loop *loop, int fd, bool for_writing, void (*call)(void *context));

/* `call` runs when the signal has come. At most four signals. */
void loop_watch_signal(struct loop *loop, int number, void (*call)(void *context, int number));

/* Runs until loop_stop(). */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif
