/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/kept.h"

#include "lib/nic/engine/engine_state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- the engine's slots ----------------------------------------------------------------------- */

int kept_pool_init(struct kept_pool *pool, uint32_t slot_count)
{
	*pool = (struct kept_pool){.slot_count = slot_count};
	list_init(&pool->keepers);
	list_init(&pool->draining);
	list_init(&pool->draining_responses);
	if (slot_count == 0)
		return 0;
	/* The system gives memory to a slot only when the slot is used for the first time. */
	pool->slots = calloc(slot_count, sizeof(*pool->slots));
	return pool->slots != NULL ? 0 : -ENOMEM;
}

void kept_pool_fini(struct kept_pool *pool)
{
	assert(pool->used_count == 0 && list_is_empty(&pool->keepers));
	free(pool->slots);
	*pool = (struct kept_pool){0};
}

static struct kept_packet *take_slot(struct kept_pool *pool)
{
	struct kept_packet *slot = pool->free;

	assert(pool->used_count < pool->slot_count);
	pool->used_count++;
	if (slot == NULL)
		return &pool->slots[pool->touched_count++];
	pool->free = slot->next;
	return slot;
}

/* Gives back `count` slots, from `first` to `last` by their links. */
static void give_slots_back(struct kept_pool *pool, struct kept_packet *first,
			    struct kept_packet *last, uint32_t count)
{
	assert(pool->used_count >= count);
	pool->used_count -= count;
	last->next = pool->free;
	pool->free = first;
}

void kept_give_back(struct engine *engine, struct kept_packet *packet)
{
	give_slots_back(&engine->kept, packet, packet, 1);
}

void kept_give_back_all(struct engine *engine, struct kept_packet *packets)
{
	while (packets != NULL) {
		struct kept_packet *next = packets->next;

		kept_give_back(engine, packets);
		packets = next;
	}
}

/* --- the packets behind a gap ----------------------------------------------------------------- */

void kept_init(struct kept *kept)
{
	*kept = (struct kept){0};
	list_init(&kept->node);
	list_init(&kept->drain_node);
}

void kept_forget(struct engine *engine, struct kept *kept)
{
	if (kept->first == NULL)
		return;
	give_slots_back(&engine->kept, kept->first, kept->last_run->run_last, kept->packet_count);
	list_remove(&kept->node);
	list_remove(&kept->drain_node);
	kept_init(kept);
}

void kept_note_progress(struct engine *engine, struct kept *kept)
{
	kept->progress_ns = engine->now_ns;
	list_remove(&kept->node);
	list_add_tail(&engine->kept.keepers, &kept->node);
}

/* Whether `kept` may have one slot more. */
static bool has_slot_for(const struct kept_pool *pool, const struct kept *kept)
{
	const uint64_t free_count = pool->slot_count - pool->used_count;

	return kept->packet_count < free_count * LIMIT_KEPT_SHARE;
}

/* Takes the slots of the one that waits for its gap the longest, if its peer seems to be gone. */
static void take_from_idle(struct engine *engine, const struct kept *kept)
{
	struct kept *oldest;

	if (list_is_empty(&engine->kept.keepers))
		return;
	oldest = list_first_entry(&engine->kept.keepers, struct kept, node);
	if (oldest != kept && engine->now_ns - oldest->progress_ns >= LIMIT_KEPT_NS)
		kept_forget(engine, oldest);
}

/* The last run that begins before `psn` or with it; NULL: none. */
static struct kept_packet *run_before(const struct kept *kept, struct rnic_psn psn)
{
	struct kept_packet *run = kept->last_run;

	if (kept->first == NULL || rnic_psn_distance(psn, kept->first->packet.psn) < 0)
		return NULL;
	if (rnic_psn_distance(psn, run->packet.psn) >= 0)
		return run;
	for (run = kept->first; rnic_psn_distance(psn, run->run_next->packet.psn) >= 0;)
		run = run->run_next;
	return run;
}

static bool follows(const struct kept_packet *run, struct rnic_psn psn)
{
	return rnic_psn_distance(psn, run->run_last->packet.psn) == 1;
}

/* Links `slot` in behind the run `before`, which is NULL at the front. */
static void link_packet(struct kept *kept, struct kept_packet *before, struct kept_packet *slot)
{
	struct kept_packet *run = slot;
	struct kept_packet **link = before == NULL ? &kept->first : &before->run_last->next;
	struct kept_packet *next = before == NULL ? kept->first : before->run_next;

	slot->next = *link;
	*link = slot;
	if (before != NULL && follows(before, slot->packet.psn)) {
		run = before;
		run->run_last = slot;
	} else {
		slot->run_last = slot;
		slot->run_next = next;
		if (before != NULL)
			before->run_next = slot;
		if (next == NULL)
			kept->last_run = slot;
		kept->run_count++;
	}
	if (next == NULL || !follows(run, next->packet.psn))
		return;
	run->run_last = next->run_last;
	run->run_next = next->run_next;
	if (kept->last_run == next)
		kept->last_run = run;
	kept->run_count--;
}

/* Whether the run `before`, the last one not behind `packet`, has the packet already. */
static bool is_copy(const struct kept_packet *before, const struct rnic_packet *packet)
{
	return before != NULL && rnic_psn_distance(packet->psn, before->run_last->packet.psn) <= 0;
}

/* Whether the rules let `packet` be kept behind the run `before`. */
static bool may_keep(const struct kept *kept, const struct kept_packet *before,
		     const struct rnic_packet *packet)
{
	return kept->run_count < LIMIT_KEPT_RUNS ||
	       (before != NULL && follows(before, packet->psn));
}

bool kept_add(struct engine *engine, struct kept *kept, const struct rnic_packet *packet)
{
	struct kept_packet *before = run_before(kept, packet->psn);
	struct kept_packet *slot;

	if (is_copy(before, packet))
		return true;
	if (!may_keep(kept, before, packet))
		return false;
	if (!has_slot_for(&engine->kept, kept))
		take_from_idle(engine, kept);
	if (!has_slot_for(&engine->kept, kept))
		return false;
	slot = take_slot(&engine->kept);
	slot->packet = *packet;
	slot->packet.payload = slot->payload;
	if (packet->payload_bytes > 0)
		memcpy(slot->payload, packet->payload, packet->payload_bytes);
	if (kept->first == NULL)
		kept_note_progress(engine, kept);
	link_packet(kept, before, slot);
	kept->packet_count++;
	return true;
}

struct kept_packet *kept_take_first(struct kept *kept)
{
	struct kept_packet *first = kept->first;
	struct kept_packet *next = first->next;

	if (first->run_last != first) {
		next->run_last = first->run_last;
		next->run_next = first->run_next;
		if (kept->last_run == first)
			kept->last_run = next;
	} else {
		kept->run_count--;
	}
	kept->first = next;
	kept->packet_count--;
	if (next == NULL) {
		list_remove(&kept->node);
		list_remove(&kept->drain_node);
		kept_init(kept);
	}
	return first;
}
