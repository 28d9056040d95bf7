/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_deadlines.h"

#include "lib/apis/rpc/wire/rpc_sender.h"

#include <assert.h>
#include <string.h>

size_t rpc_deadlines_memory_bytes(uint32_t capacity)
{
	return capacity * (sizeof(struct rpc_deadline) + sizeof(uint32_t));
}

void rpc_deadlines_init(struct rpc_deadlines *deadlines, uint32_t capacity, void *memory)
{
	struct rpc_deadline *heap = memory;

	*deadlines = (struct rpc_deadlines){
		.heap = heap,
		.positions = (uint32_t *)(heap + capacity),
		.capacity = capacity,
	};
	memset(deadlines->positions, 0, capacity * sizeof(*deadlines->positions));
}

static void rpc_deadlines_place(struct rpc_deadlines *deadlines, uint32_t index,
				struct rpc_deadline deadline)
{
	deadlines->heap[index] = deadline;
	deadlines->positions[deadline.item] = index + 1;
}

static void rise(struct rpc_deadlines *deadlines, uint32_t index)
{
	struct rpc_deadline risen = deadlines->heap[index];

	while (index > 0 && risen.at_ns < deadlines->heap[(index - 1) / 2].at_ns) {
		rpc_deadlines_place(deadlines, index, deadlines->heap[(index - 1) / 2]);
		index = (index - 1) / 2;
	}
	rpc_deadlines_place(deadlines, index, risen);
}

static void sink(struct rpc_deadlines *deadlines, uint32_t index)
{
	struct rpc_deadline sunk = deadlines->heap[index];

	for (;;) {
		uint32_t child = 2 * index + 1;

		if (child + 1 < deadlines->count &&
		    deadlines->heap[child + 1].at_ns < deadlines->heap[child].at_ns)
			child++;
		if (child >= deadlines->count || deadlines->heap[child].at_ns >= sunk.at_ns)
			break;
		rpc_deadlines_place(deadlines, index, deadlines->heap[child]);
		index = child;
	}
	rpc_deadlines_place(deadlines, index, sunk);
}

static void remove_at(struct rpc_deadlines *deadlines, uint32_t index)
{
	uint32_t last = --deadlines->count;

	deadlines->positions[deadlines->heap[index].item] = 0;
	if (index == last)
		return;
	rpc_deadlines_place(deadlines, index, deadlines->heap[last]);
	rise(deadlines, index);
	sink(deadlines, index);
}

void rpc_deadlines_set(struct rpc_deadlines *deadlines, uint32_t item, uint64_t at_ns)
{
	uint32_t position = deadlines->positions[item];

	assert(item < deadlines->capacity);
	if (at_ns == RPC_NEVER) {
		if (position != 0)
			remove_at(deadlines, position - 1);
		return;
	}
	if (position == 0)
		position = ++deadlines->count;
	rpc_deadlines_place(deadlines, position - 1,
			    (struct rpc_deadline){.at_ns = at_ns, .item = item});
	rise(deadlines, position - 1);
	sink(deadlines, deadlines->positions[item] - 1);
}

uint64_t rpc_deadlines_next_ns(const struct rpc_deadlines *deadlines)
{
	return deadlines->count > 0 ? deadlines->heap[0].at_ns : RPC_NEVER;
}

bool rpc_deadlines_take(struct rpc_deadlines *deadlines, uint64_t now_ns, uint32_t *item)
{
	if (rpc_deadlines_next_ns(deadlines) > now_ns || deadlines->count == 0)
		return false;
	*item = deadlines->heap[0].item;
	remove_at(deadlines, 0);
	return true;
}
