/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/responder_resources.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct responder_resource *slot_at(const struct responder_resources *ring, uint32_t age)
{
	uint32_t index = ring->first + age;

	assert(age < ring->used);
	return &ring->slots[index < ring->count ? index : index - ring->count];
}

int responder_resources_init(struct responder_resources *ring, uint32_t max_dest_rd_atomic)
{
	struct responder_resource *slots = NULL;

	if (max_dest_rd_atomic > 0) {
		slots = calloc(max_dest_rd_atomic, sizeof(*slots));
		if (slots == NULL)
			return -ENOMEM;
	}
	*ring = (struct responder_resources){.slots = slots, .count = max_dest_rd_atomic};
	return 0;
}

void responder_resources_fini(struct responder_resources *ring)
{
	free(ring->slots);
	*ring = (struct responder_resources){0};
}

void responder_resources_clear(struct responder_resources *ring)
{
	ring->first = 0;
	ring->used = 0;
}

bool responder_resources_has_space(const struct responder_resources *ring)
{
	const struct responder_resource *oldest;

	if (ring->used < ring->count)
		return true;
	if (ring->count == 0)
		return false;
	oldest = slot_at(ring, 0);
	return !oldest->is_pending || oldest->is_repeat;
}

struct responder_resource *responder_resources_add(struct responder_resources *ring)
{
	struct responder_resource *responder_resource;

	assert(responder_resources_has_space(ring));
	if (ring->used == ring->count) {
		ring->first = (ring->first + 1) % ring->count;
		ring->used--;
	}
	ring->used++;
	responder_resource = slot_at(ring, ring->used - 1);
	memset(responder_resource, 0, sizeof(*responder_resource));
	return responder_resource;
}

struct responder_resource *responder_resources_find(struct responder_resources *ring,
						    struct rnic_psn psn)
{
	/* The youngest first: after the PSNs wrapped, an old slot may cover the same number. */
	for (uint32_t age = ring->used; age-- > 0;) {
		struct responder_resource *responder_resource = slot_at(ring, age);
		uint32_t ahead = (psn.value - responder_resource->psn.value) & RNIC_PSN_MASK;

		if (ahead < responder_resource->packets)
			return responder_resource;
	}
	return NULL;
}

const struct responder_resource *
responder_resources_find_between(const struct responder_resources *ring, struct rnic_psn psn,
				 struct rnic_psn end)
{
	for (uint32_t age = 0; age < ring->used; age++) {
		const struct responder_resource *responder_resource = slot_at(ring, age);

		if (rnic_psn_distance(responder_resource->psn, psn) > 0 &&
		    rnic_psn_distance(responder_resource->psn, end) < 0)
			return responder_resource;
	}
	return NULL;
}

struct responder_resource *responder_resources_next_pending(struct responder_resources *ring)
{
	for (uint32_t age = 0; age < ring->used; age++) {
		struct responder_resource *responder_resource = slot_at(ring, age);

		if (responder_resource->is_pending)
			return responder_resource;
	}
	return NULL;
}

void responder_resources_cancel_from(struct responder_resources *ring, struct rnic_psn psn)
{
	for (uint32_t age = 0; age < ring->used; age++) {
		struct responder_resource *responder_resource = slot_at(ring, age);
		struct rnic_psn last = rnic_psn_add(responder_resource->psn,
						    (int32_t)responder_resource->packets - 1);

		if (rnic_psn_distance(last, psn) >= 0)
			responder_resource->is_pending = false;
	}
}

void responder_resources_check_invariants(const struct responder_resources *ring)
{
	assert(ring->used <= ring->count);
	for (uint32_t age = 0; age < ring->used; age++) {
		const struct responder_resource *responder_resource = slot_at(ring, age);
		const struct responder_resources_answer *answer = &responder_resource->answer;

		assert(answer->next_packet <= answer->end_packet);
		assert(answer->end_packet <= responder_resource->packets);
		assert(!responder_resource->is_pending || answer->next_packet < answer->end_packet);
	}
}
