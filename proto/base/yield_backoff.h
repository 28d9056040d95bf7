/* SPDX-License-Identifier: MIT */
/*
 * Whether a thread that polls may do so by turns: it yields its core after a look in vain, to
 * whoever waits for it. Where those poll and yield as well, as the daemon and programs do, each
 * gets its turn within microseconds, and no message needs a wake-up, the dearest part of its way. A
 * program that computes instead keeps the core for milliseconds; then it is better to sleep, for
 * whoever is woken runs at once.
 *
 * So a yield that took long is paid for by sleeping: the time that is lost is a bounded share.
 */
#ifndef PROTO_BASE_YIELD_BACKOFF_H
#define PROTO_BASE_YIELD_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_YIELD_BACKOFF_LONG_NS UINT64_C(500000) /* longer than turns of others that poll */
#define RNIC_YIELD_BACKOFF_SHARE   8		    /* of the time, at most 1 in so many is lost */

/* Zero at first. */
struct rnic_yield_backoff {
	uint64_t sleep_until_ns;
};

/* A yield began and ended. */
static inline void rnic_yield_backoff_note(struct rnic_yield_backoff *backoff, uint64_t began_ns,
					   uint64_t ended_ns)
{
	uint64_t lost_ns = ended_ns - began_ns;

	if (lost_ns >= RNIC_YIELD_BACKOFF_LONG_NS)
		backoff->sleep_until_ns = ended_ns + lost_ns * RNIC_YIELD_BACKOFF_SHARE;
}

/* False: better sleep than yield at `now_ns`. */
static inline bool rnic_yield_backoff_is_returned(const struct rnic_yield_backoff *backoff,
						  uint64_t now_ns)
{
	return now_ns >= backoff->sleep_until_ns;
}

#endif
