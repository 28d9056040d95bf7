/* SPDX-License-Identifier: MIT */
/*
 * The pace of UC and UD traffic. Nobody acknowledges this traffic, so no window can hold it back: a
 * burst would overrun the peer's socket buffer and its receive queue while the peer's daemon or
 * program waits for a processor. All of a device's unacknowledged traffic shares one allowance,
 * which grows with time up to a burst (LIMIT_PACE_BYTES_PER_MS, LIMIT_PACE_BURST_BYTES).
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_PACE_H
#define LIB_NIC_ENGINE_RELIABILITY_PACE_H

#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct pace {
	uint64_t allowance_bytes;
	uint64_t counted_ns; /* the time up to which it has grown */
	struct list waiting; /* struct qp.path_node, UC and UD, in the order of their turns */
	bool has_served;     /* the first has sent in its turn */
};

/* With a full burst to begin with. */
void pace_init(struct pace *pace);

/*
 * Takes `bytes`, at most half a burst, off the allowance at `now_ns`. When they are not there,
 * takes nothing and sets `*ready_ns` to the instant at which half a burst will be there: a sender
 * that has used up its share sleeps for a while, instead of keeping the processor from the
 * receiver.
 */
bool pace_try_take(struct pace *pace, uint32_t bytes, uint64_t now_ns, uint64_t *ready_ns);

/* When half a burst will be there, of which there is less now. */
uint64_t pace_half_burst_at_ns(const struct pace *pace);

#endif
