/* SPDX-License-Identifier: MIT */
/*
 * Whether a thread that polls may do so by turns: it yields its core after each look, to whoever
 * waits for it. Where those are programs that poll and yield as well, which is what the library
 * does in a poll of an empty queue, each gets its turn within microseconds, and no message needs a
 * wake-up, the dearest part of its way. A program that computes instead keeps the core for
 * milliseconds; then it is better to sleep, for whoever is woken runs at once.
 *
 * So a yield that took long is paid for by sleeping: the time that is lost is a bounded share.
 */
#ifndef DAEMON_DEVICE_COURTESY_H
#define DAEMON_DEVICE_COURTESY_H

#include <stdbool.h>
#include <stdint.h>

#define COURTESY_LONG_NS UINT64_C(500000) /* longer than turns of others that poll */
#define COURTESY_SHARE	 32		  /* of the time, at most 1 in so many is lost */

struct courtesy {
	uint64_t sleep_until_ns;
};

/* A yield began and ended. */
void courtesy_note(struct courtesy *courtesy, uint64_t began_ns, uint64_t ended_ns);

static inline bool courtesy_is_returned(const struct courtesy *courtesy, uint64_t now_ns)
{
	return now_ns >= courtesy->sleep_until_ns;
}

#endif
