/* SPDX-License-Identifier: MIT */
/*
 * What is posted to one work queue and has not been polled, oldest first: the queue completes in
 * that order, and completions name requests by their place in it. Bookkeeping only.
 */
#ifndef RNIC_POSTED_RING_H
#define RNIC_POSTED_RING_H

#include <stdbool.h>
#include <stdint.h>

/* The number of nobody's request: a probe, which has a place beside the caller's. */
#define RNIC_PROBE_WR_ID (-1)

struct rnic_posted {
	int wr_id;
	uint8_t opcode; /* enum rdma_wc_opcode */
	uint32_t length;
};

struct rnic_posted_ring {
	uint32_t depth;	 /* of the caller's requests; besides there is room for one probe */
	uint64_t posted; /* since it was made; the sequence number of the next request */
	uint64_t polled;
	bool is_probing;
	struct rnic_posted *places;
};

/* -ENOMEM. */
int rnic_posted_ring_init(struct rnic_posted_ring *ring, uint32_t depth);
void rnic_posted_ring_fini(struct rnic_posted_ring *ring);

static inline bool rnic_posted_ring_is_empty(const struct rnic_posted_ring *ring)
{
	return ring->posted == ring->polled;
}

/* Whether there is room for one more of the caller's, or for the probe. */
bool rnic_posted_ring_has_room(const struct rnic_posted_ring *ring, int wr_id);

/* There is room. */
void rnic_posted_ring_push(struct rnic_posted_ring *ring, struct rnic_posted posted);

/* The request `sequence` has completed. False: it is not the oldest one under way. */
bool rnic_posted_ring_try_pop(struct rnic_posted_ring *ring, uint64_t sequence,
			      struct rnic_posted *posted);

/* What comes after `wr_id`: never negative. */
int rnic_wr_id_after(int wr_id);

#endif
