/* SPDX-License-Identifier: MIT */
#include "lib/nic/mem/memory_batch.h"

#include <stddef.h>

void memory_batch_init(struct memory_batch *batch, enum memory_direction direction,
		       memory_batch_failed *failed, void *context)
{
	batch->direction = direction;
	batch->failed = failed;
	batch->context = context;
	batch->count = 0;
}

/* Moves `count` transfers of one space; returns how many were moved whole, as the ops do. */
static uint32_t move(const struct memory_batch *batch, const struct memory_transfer *transfers,
		     uint32_t count, int *error)
{
	const struct client_memory_ops *ops = transfers[0].region->ops;

	return batch->direction == MEMORY_READ ? ops->read(transfers, count, error)
					       : ops->write(transfers, count, error);
}

int memory_batch_add(struct memory_batch *batch, const struct memory_transfer *transfer,
		     void *owner, uint64_t tag)
{
	if (transfer->region->direct) {
		int error = 0;

		return move(batch, transfer, 1, &error) == 1 ? 0 : error;
	}
	if (batch->count == MEMORY_BATCH_TRANSFERS)
		memory_batch_flush(batch);
	batch->transfers[batch->count] = *transfer;
	batch->origins[batch->count].owner = owner;
	batch->origins[batch->count].tag = tag;
	batch->count++;
	return 0;
}

bool memory_batch_has(const struct memory_batch *batch, const void *owner)
{
	for (uint32_t i = batch->count; i > 0; i--)
		if (batch->origins[i - 1].owner == owner)
			return true;
	return false;
}

/* How many transfers from `first` on can go in one call. */
static uint32_t run_length(const struct memory_batch *batch, uint32_t first, uint32_t count)
{
	const struct client_region *region = batch->transfers[first].region;
	uint32_t next = first + 1;

	while (next < count && batch->transfers[next].region->ops == region->ops &&
	       batch->transfers[next].region->space == region->space)
		next++;
	return next - first;
}

/* Takes out the later transfers of the owner of `failed`; returns the new count. */
static uint32_t skip_owner(struct memory_batch *batch, uint32_t failed, uint32_t count,
			   const void *owner)
{
	uint32_t kept = failed + 1;

	for (uint32_t i = failed + 1; i < count; i++) {
		if (batch->origins[i].owner == owner)
			continue;
		batch->transfers[kept] = batch->transfers[i];
		batch->origins[kept] = batch->origins[i];
		kept++;
	}
	return kept;
}

/*
 * The batch counts as empty before the first callback: what the callbacks lead to (completions,
 * other flushes) must not move anything twice. They add nothing, so the arrays stay as they are.
 */
void memory_batch_flush(struct memory_batch *batch)
{
	uint32_t count = batch->count;
	uint32_t first = 0;

	batch->count = 0;
	while (first < count) {
		uint32_t run = run_length(batch, first, count);
		int error = 0;
		uint32_t moved = move(batch, &batch->transfers[first], run, &error);

		first += moved;
		if (moved < run) {
			void *owner = batch->origins[first].owner;
			uint64_t tag = batch->origins[first].tag;

			count = skip_owner(batch, first, count, owner);
			batch->failed(batch->context, owner, tag, error);
			first++;
		}
	}
}
