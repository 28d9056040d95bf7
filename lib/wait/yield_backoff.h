/* SPDX-License-Identifier: MIT */
/*
 * Whether a polling thread yields its core after a poll in vain, or sleeps. Where all threads of a
 * core poll and yield, as the daemon and programs do, each thread runs again within microseconds,
 * and no message needs a wake-up, the dearest part of its way. A thread that computes keeps the
 * core for milliseconds; then the polling thread should sleep, because a woken thread runs at once.
 *
 * So the thread pays for a long yield by sleeping: the lost time is a bounded share.
 *
 * A yield that returns at once has most likely found nobody else to run on this core. A thread
 * whose next poll costs no more than a yield polls on without one then, for a moment.
 */
#ifndef LIB_WAIT_YIELD_BACKOFF_H
#define LIB_WAIT_YIELD_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_YIELD_BACKOFF_LONG_NS  UINT64_C(500000) /* longer than a polling thread's turn */
#define RNIC_YIELD_BACKOFF_SHARE    8		     /* at most 1 part of the time in so many */
#define RNIC_YIELD_BACKOFF_QUICK_NS UINT64_C(1500)   /* hardly anybody runs in so short a yield */
#define RNIC_YIELD_BACKOFF_ALONE_NS UINT64_C(5000)

/* Zero at first. */
struct rnic_yield_backoff {
	uint64_t sleep_until_ns;
	uint64_t alone_until_ns;
};

/* A yield began and ended. */
static inline void rnic_yield_backoff_note(struct rnic_yield_backoff *backoff, uint64_t began_ns,
					   uint64_t ended_ns)
{
	uint64_t lost_ns = ended_ns - began_ns;

	if (lost_ns >= RNIC_YIELD_BACKOFF_LONG_NS)
		backoff->sleep_until_ns = ended_ns + lost_ns * RNIC_YIELD_BACKOFF_SHARE;
	if (lost_ns < RNIC_YIELD_BACKOFF_QUICK_NS)
		backoff->alone_until_ns = ended_ns + RNIC_YIELD_BACKOFF_ALONE_NS;
}

/* True: nobody has asked for the core just now. */
static inline bool rnic_yield_backoff_is_alone(const struct rnic_yield_backoff *backoff,
					       uint64_t now_ns)
{
	return now_ns < backoff->alone_until_ns;
}

/* False: the thread should sleep at `now_ns`, not yield. */
static inline bool rnic_yield_backoff_is_returned(const struct rnic_yield_backoff *backoff,
						  uint64_t now_ns)
{
	return now_ns >= backoff->sleep_until_ns;
}

#endif
