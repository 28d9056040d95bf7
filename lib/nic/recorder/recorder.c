/* SPDX-License-Identifier: MIT */
#include "lib/nic/recorder/recorder.h"

#include <stddef.h>

#define RUN_MAX	      UINT8_MAX
#define NAMED_ENTRIES (RNIC_RECORD_RING_ENTRIES / 2) /* of an owner, until the next name */

void recorder_init(struct recorder *recorder, struct rnic_record_region *region)
{
	*recorder = (struct recorder){
		.region = region,
		.free_first = RNIC_RECORD_FIRST_RING,
		.free_last = RNIC_RECORD_RINGS - 1,
	};
	for (uint32_t ring = RNIC_RECORD_FIRST_RING; ring + 1 < RNIC_RECORD_RINGS; ring++)
		recorder->free_next[ring] = (uint8_t)(ring + 1);
}

/* A stranger may send packets of any PSN: drops for one cause are one run. */
static bool is_same(const struct rnic_record_entry *a, const struct rnic_record_entry *b)
{
	return a->event == b->event && a->detail == b->detail &&
	       (a->event == RNIC_RECORD_DROPPED ||
		(a->extra == b->extra && a->psn == b->psn && a->value == b->value));
}

static void ring_write(struct rnic_record_ring *ring, const struct rnic_record_entry *entry)
{
	const uint32_t count = atomic_load_explicit(&ring->count, memory_order_relaxed);
	struct rnic_record_entry *last = &ring->entries[(count - 1) % RNIC_RECORD_RING_ENTRIES];

	if (count != 0 && is_same(last, entry)) {
		if (last->run < RUN_MAX)
			last->run++;
		return;
	}
	ring->entries[count % RNIC_RECORD_RING_ENTRIES] = *entry;
	atomic_store_explicit(&ring->count, count + 1, memory_order_release);
}

static void ring_begin(struct rnic_record_ring *ring, const struct record_hold *hold)
{
	atomic_store_explicit(&ring->count, 0, memory_order_release);
	ring->qpn = hold->qpn;
	ring->peer_qpn = hold->peer_qpn;
	ring->client_id = hold->client_id;
}

/* Takes the ring that has been free for longest; the shared ring, when none is free. */
static void take_ring(struct recorder *recorder, struct record_hold *hold)
{
	const uint8_t ring = recorder->free_first;

	if (ring == 0) {
		hold->ring = RNIC_RECORD_SHARED_RING;
		return;
	}
	recorder->free_first = recorder->free_next[ring];
	recorder->free_next[ring] = 0;
	if (recorder->free_first == 0)
		recorder->free_last = 0;
	hold->ring = ring;
	ring_begin(&recorder->region->rings[ring], hold);
}

/* Whether the next entry of the shared ring is this owner's, and the ring keeps the name so far. */
static bool is_named(const struct recorder *recorder, const struct rnic_record_ring *ring,
		     const struct rnic_record_entry *owner)
{
	const struct rnic_record_entry *last = &recorder->shared_owner;
	const uint32_t count = atomic_load_explicit(&ring->count, memory_order_relaxed);

	return last->psn == owner->psn && last->value == owner->value &&
	       last->tick == owner->tick && count - recorder->shared_named < NAMED_ENTRIES;
}

/*
 * Says whose the next entries of the shared ring are, anew before the ring has replaced what said
 * so last.
 */
static void name_owner(struct recorder *recorder, const struct record_hold *hold)
{
	struct rnic_record_ring *ring = &recorder->region->rings[RNIC_RECORD_SHARED_RING];
	const struct rnic_record_entry owner = {
		.tick = hold->client_id,
		.event = RNIC_RECORD_OWNER,
		.psn = hold->qpn,
		.value = hold->peer_qpn,
	};

	if (is_named(recorder, ring, &owner))
		return;
	recorder->shared_owner = owner;
	recorder->shared_named = atomic_load_explicit(&ring->count, memory_order_relaxed);
	ring_write(ring, &owner);
}

void recorder_note_qp(struct recorder *recorder, struct record_hold *hold,
		      const struct rnic_record_entry *entry)
{
	struct rnic_record_ring *ring;

	if (recorder->region == NULL)
		return;
	if (hold->ring < RNIC_RECORD_FIRST_RING)
		take_ring(recorder, hold);
	ring = &recorder->region->rings[hold->ring];
	if (hold->ring == RNIC_RECORD_SHARED_RING)
		name_owner(recorder, hold);
	else
		ring->peer_qpn = hold->peer_qpn;
	ring_write(ring, entry);
}

void recorder_release(struct recorder *recorder, struct record_hold *hold)
{
	const uint8_t ring = hold->ring;

	hold->ring = 0;
	if (ring < RNIC_RECORD_FIRST_RING)
		return;
	if (recorder->free_first == 0)
		recorder->free_first = ring;
	else
		recorder->free_next[recorder->free_last] = ring;
	recorder->free_last = ring;
}

void recorder_note_life(struct recorder *recorder, uint32_t number,
			const struct rnic_record_entry *entry)
{
	if (recorder->region != NULL)
		ring_write(&recorder->region->rings[1 + number % RNIC_RECORD_LIFE_RINGS], entry);
}

void recorder_note_port(struct recorder *recorder, const struct rnic_record_entry *entry)
{
	if (recorder->region != NULL)
		ring_write(&recorder->region->rings[RNIC_RECORD_PORT_RING], entry);
}
