/* SPDX-License-Identifier: MIT */
#include "lib/apis/rdma/posted_ring.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static uint32_t place_count(const struct rnic_posted_ring *ring)
{
	return ring->depth + 1;
}

int rnic_posted_ring_init(struct rnic_posted_ring *ring, uint32_t depth)
{
	*ring = (struct rnic_posted_ring){.depth = depth};
	ring->places = calloc(place_count(ring), sizeof(*ring->places));
	return ring->places != NULL ? 0 : -ENOMEM;
}

void rnic_posted_ring_fini(struct rnic_posted_ring *ring)
{
	free(ring->places);
	*ring = (struct rnic_posted_ring){0};
}

bool rnic_posted_ring_has_room(const struct rnic_posted_ring *ring, int wr_id)
{
	if (wr_id == RNIC_PROBE_WR_ID)
		return !ring->is_probing;
	return ring->posted - ring->polled - ring->is_probing < ring->depth;
}

void rnic_posted_ring_push(struct rnic_posted_ring *ring, struct rnic_posted posted)
{
	assert(rnic_posted_ring_has_room(ring, posted.wr_id));
	ring->places[ring->posted % place_count(ring)] = posted;
	ring->posted++;
	ring->is_probing |= posted.wr_id == RNIC_PROBE_WR_ID;
}

bool rnic_posted_ring_try_pop(struct rnic_posted_ring *ring, uint64_t sequence,
			      struct rnic_posted *posted)
{
	if (rnic_posted_ring_is_empty(ring) || sequence != ring->polled)
		return false;
	*posted = ring->places[sequence % place_count(ring)];
	ring->polled++;
	if (posted->wr_id == RNIC_PROBE_WR_ID)
		ring->is_probing = false;
	return true;
}

int rnic_wr_id_after(int wr_id)
{
	return wr_id == INT_MAX ? 0 : wr_id + 1;
}
