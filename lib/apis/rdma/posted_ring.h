/* SPDX-License-Identifier: MIT */
/*
 * The posted requests of one work queue that have not been polled, oldest first: the queue
 * completes in that order, and completions name requests by their place in it. Bookkeeping only.
 */
#ifndef LIB_APIS_RDMA_POSTED_RING_H
#define LIB_APIS_RDMA_POSTED_RING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The number of a probe, which is not the caller's and has a place besides the caller's requests.
 */
#define RNIC_PROBE_WR_ID (-1)

struct rnic_posted {
	int wr_id;
	uint8_t opcode; /* enum rdma_wc_opcode */
	uint32_t length;
};

struct rnic_posted_ring {
	uint32_t depth;	 /* the most requests of the caller; besides there is room for one probe */
	uint64_t posted; /* since the ring was made; the sequence number of the next request */
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

/* Whether there is room for one more request of the caller, or for the probe. */
bool rnic_posted_ring_has_room(const struct rnic_posted_ring *ring, int wr_id);

/* The caller has checked that there is room. */
void rnic_posted_ring_push(struct rnic_posted_ring *ring, struct rnic_posted posted);

/* Records that the request `sequence` has completed. False: it is not the oldest one under way. */
bool rnic_posted_ring_try_pop(struct rnic_posted_ring *ring, uint64_t sequence,
			      struct rnic_posted *posted);

/* The number that follows `wr_id`: never negative. */
int rnic_wr_id_after(int wr_id);

#endif
