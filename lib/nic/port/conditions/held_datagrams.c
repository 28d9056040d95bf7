/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/held_datagrams.h"

#include <stdlib.h>

void held_pool_init(struct held_pool *pool)
{
	list_init(&pool->free);
	pool->block_count = 0;
	pool->block_used = HELD_BLOCK_DATAGRAMS;
}

void held_pool_fini(struct held_pool *pool)
{
	for (uint32_t i = 0; i < pool->block_count; i++)
		free(pool->blocks[i]);
}

/* Blocks are large enough that the allocator gives their pages back when the pool goes. */
static bool pool_add_block(struct held_pool *pool)
{
	struct held *block;

	if (pool->block_count == HELD_BLOCKS_MAX)
		return false;
	block = malloc(HELD_BLOCK_DATAGRAMS * sizeof(*block));
	if (block == NULL)
		return false;
	pool->blocks[pool->block_count++] = block;
	pool->block_used = 0;
	return true;
}

struct held *held_pool_take(struct held_pool *pool)
{
	struct held *held;

	if (!list_is_empty(&pool->free)) {
		held = list_first_entry(&pool->free, struct held, node);
		list_remove(&held->node);
		return held;
	}
	if (pool->block_used == HELD_BLOCK_DATAGRAMS && !pool_add_block(pool))
		return NULL;
	held = &pool->blocks[pool->block_count - 1][pool->block_used++];
	list_init(&held->node);
	return held;
}

void held_pool_give(struct held_pool *pool, struct held *held)
{
	list_add(&pool->free, &held->node);
}

int held_lane_init(struct held_lane *lane)
{
	list_init(&lane->overtaken);
	return due_queue_reserve(&lane->due, HELD_MAX);
}

void held_lane_fini(struct held_lane *lane)
{
	due_queue_fini(&lane->due);
}

void held_lane_advance(struct held_lane *lane, uint32_t passed, uint64_t now_ns)
{
	struct list *node, *following;

	list_for_each_safe (node, following, &lane->overtaken) {
		struct held *held = list_entry(node, struct held, node);

		held->behind -= held->behind < passed ? held->behind : passed;
		if (held->behind != 0 && held->due_ns > now_ns)
			continue;
		list_remove(node);
		due_queue_push(&lane->due, now_ns + held->delay_ns, held);
	}
}

struct held *held_lane_first_due(const struct held_lane *lane, uint64_t now_ns)
{
	return due_queue_earliest_ns(&lane->due) <= now_ns ? due_queue_first(&lane->due) : NULL;
}

uint64_t held_lane_deadline_ns(const struct held_lane *lane)
{
	uint64_t deadline_ns = due_queue_earliest_ns(&lane->due);

	if (!list_is_empty(&lane->overtaken)) {
		struct held *held = list_first_entry(&lane->overtaken, struct held, node);

		if (held->due_ns < deadline_ns)
			deadline_ns = held->due_ns;
	}
	return deadline_ns;
}
