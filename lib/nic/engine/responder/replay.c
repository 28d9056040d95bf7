/* SPDX-License-Identifier: MIT */
#include "engine/responder/replay.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct replay *slot_at(const struct replay_ring *ring, uint32_t age)
{
	uint32_t index = ring->first + age;

	assert(age < ring->used);
	return &ring->slots[index < ring->count ? index : index - ring->count];
}

int replay_init(struct replay_ring *ring, uint32_t max_dest_rd_atomic)
{
	struct replay *slots = NULL;

	if (max_dest_rd_atomic > 0) {
		slots = calloc(max_dest_rd_atomic, sizeof(*slots));
		if (slots == NULL)
			return -ENOMEM;
	}
	*ring = (struct replay_ring){.slots = slots, .count = max_dest_rd_atomic};
	return 0;
}

void replay_fini(struct replay_ring *ring)
{
	free(ring->slots);
	*ring = (struct replay_ring){0};
}

void replay_clear(struct replay_ring *ring)
{
	ring->first = 0;
	ring->used = 0;
}

bool replay_has_space(const struct replay_ring *ring)
{
	const struct replay *oldest;

	if (ring->used < ring->count)
		return true;
	if (ring->count == 0)
		return false;
	oldest = slot_at(ring, 0);
	return !oldest->is_pending || oldest->is_repeat;
}

struct replay *replay_add(struct replay_ring *ring)
{
	struct replay *replay;

	assert(replay_has_space(ring));
	if (ring->used == ring->count) {
		ring->first = (ring->first + 1) % ring->count;
		ring->used--;
	}
	ring->used++;
	replay = slot_at(ring, ring->used - 1);
	memset(replay, 0, sizeof(*replay));
	return replay;
}

struct replay *replay_find(struct replay_ring *ring, struct rnic_psn psn)
{
	/* The youngest first: after the PSNs wrapped, an old slot may cover the same number. */
	for (uint32_t age = ring->used; age-- > 0;) {
		struct replay *replay = slot_at(ring, age);
		uint32_t ahead = (psn.value - replay->psn.value) & RNIC_PSN_MASK;

		if (ahead < replay->packets)
			return replay;
	}
	return NULL;
}

const struct replay *replay_find_between(const struct replay_ring *ring, struct rnic_psn psn,
					 struct rnic_psn end)
{
	for (uint32_t age = 0; age < ring->used; age++) {
		const struct replay *replay = slot_at(ring, age);

		if (rnic_psn_distance(replay->psn, psn) > 0 &&
		    rnic_psn_distance(replay->psn, end) < 0)
			return replay;
	}
	return NULL;
}

struct replay *replay_next_pending(struct replay_ring *ring)
{
	for (uint32_t age = 0; age < ring->used; age++) {
		struct replay *replay = slot_at(ring, age);

		if (replay->is_pending)
			return replay;
	}
	return NULL;
}

void replay_cancel_from(struct replay_ring *ring, struct rnic_psn psn)
{
	for (uint32_t age = 0; age < ring->used; age++) {
		struct replay *replay = slot_at(ring, age);
		struct rnic_psn last = rnic_psn_add(replay->psn, (int32_t)replay->packets - 1);

		if (rnic_psn_distance(last, psn) >= 0)
			replay->is_pending = false;
	}
}

void replay_check_invariants(const struct replay_ring *ring)
{
	assert(ring->used <= ring->count);
	for (uint32_t age = 0; age < ring->used; age++) {
		const struct replay *replay = slot_at(ring, age);
		const struct replay_answer *answer = &replay->answer;

		assert(answer->next_packet <= answer->end_packet);
		assert(answer->end_packet <= replay->packets);
		assert(!replay->is_pending || answer->next_packet < answer->end_packet);
	}
}
