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
#ifndef RNIC_PROTO_BASE_COURTESY_H
#define RNIC_PROTO_BASE_COURTESY_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_COURTESY_LONG_NS UINT64_C(500000) /* longer than turns of others that poll */
#define RNIC_COURTESY_SHARE   8		       /* of the time, at most 1 in so many is lost */

/* Zero at first. */
struct rnic_courtesy {
	uint64_t sleep_until_ns;
};

/* A yield began and ended. */
static inline void rnic_courtesy_note(struct rnic_courtesy *courtesy, uint64_t began_ns,
				      uint64_t ended_ns)
{
	uint64_t lost_ns = ended_ns - began_ns;

	if (lost_ns >= RNIC_COURTESY_LONG_NS)
		courtesy->sleep_until_ns = ended_ns + lost_ns * RNIC_COURTESY_SHARE;
}

/* False: better sleep than yield at `now_ns`. */
static inline bool rnic_courtesy_is_returned(const struct rnic_courtesy *courtesy, uint64_t now_ns)
{
	return now_ns >= courtesy->sleep_until_ns;
}

#endif
