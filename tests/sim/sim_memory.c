/* SPDX-License-Identifier: MIT */
#include "sim_memory.h"

#include "base/bits.h"
#include "base/checked.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 16

bool sim_memory_init(struct sim_memory *memory, uint64_t bytes)
{
	*memory = (struct sim_memory){.bytes = bytes, .atomic_executions = 1};
	memory->arena = malloc(bytes);
	memory->shadow = malloc(bytes);
	if (memory->arena != NULL && memory->shadow != NULL)
		return true;
	sim_memory_fini(memory);
	return false;
}

void sim_memory_fini(struct sim_memory *memory)
{
	free(memory->arena);
	free(memory->shadow);
	*memory = (struct sim_memory){0};
}

static uint64_t pattern_word(uint64_t index)
{
	return (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void pattern_fill(uint64_t offset, uint8_t *bytes, uint32_t length)
{
	for (uint32_t done = 0; done < length;) {
		uint64_t word = pattern_word((offset + done) / 8);
		uint32_t skip = (uint32_t)((offset + done) % 8);
		uint32_t count = length - done < 8 - skip ? length - done : 8 - skip;

		memcpy(bytes + done, (const uint8_t *)&word + skip, count);
		done += count;
	}
}

static void pattern_check(struct sim_region *region, uint64_t offset, const uint8_t *bytes,
			  uint32_t length)
{
	uint8_t expected[4096];

	if (offset > region->pattern_end)
		region->pattern_wrong += offset - region->pattern_end;
	for (uint32_t done = 0; done < length;) {
		uint32_t count =
			length - done < sizeof(expected) ? length - done : sizeof(expected);

		pattern_fill(offset + done, expected, count);
		region->pattern_wrong += memcmp(expected, bytes + done, count) != 0;
		done += count;
	}
	if (offset + length > region->pattern_end)
		region->pattern_end = offset + length;
}

static struct sim_region *checked_region(struct client_region *region, uint64_t offset,
					 uint32_t length)
{
	struct sim_region *ours = RNIC_CONTAINER_OF(region, struct sim_region, region);

	assert(rnic_range_within(offset, length, region->bytes));
	ours->memory->accesses++;
	return ours;
}

static uint32_t memory_read(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct memory_transfer *transfer = &transfers[i];
		struct sim_region *region =
			checked_region(transfer->region, transfer->offset, transfer->length);

		if (region->is_gone) {
			*error = -EFAULT;
			return i;
		}
		if (region->is_pattern)
			pattern_fill(transfer->offset, transfer->bytes, transfer->length);
		else
			memcpy(transfer->bytes, region->memory->arena + transfer->offset,
			       transfer->length);
	}
	return count;
}

static uint32_t memory_write(const struct memory_transfer *transfers, uint32_t count, int *error)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct memory_transfer *transfer = &transfers[i];
		struct sim_region *region =
			checked_region(transfer->region, transfer->offset, transfer->length);
		uint64_t length = transfer->length;

		if (region->is_gone) {
			*error = -EFAULT;
			return i;
		}
		if (region->is_pattern) {
			pattern_check(region, transfer->offset, transfer->bytes, transfer->length);
			continue;
		}
		length -= length < region->memory->skip_bytes ? length : region->memory->skip_bytes;
		memcpy(region->memory->arena + transfer->offset, transfer->bytes, length);
	}
	return count;
}

static uint64_t *checked_word(struct client_region *region, uint64_t offset)
{
	struct sim_region *ours = checked_region(region, offset, sizeof(uint64_t));

	assert(offset % sizeof(uint64_t) == 0);
	if (ours->is_gone || ours->is_pattern)
		return NULL;
	return (uint64_t *)(void *)(ours->memory->arena + offset);
}

static int memory_compare_swap(struct client_region *region, uint64_t offset, uint64_t compare,
			       uint64_t swap, uint64_t *original)
{
	uint64_t *word = checked_word(region, offset);

	if (word == NULL)
		return -EFAULT;
	*original = *word;
	if (*word == compare)
		*word = swap;
	return 0;
}

static int memory_fetch_add(struct client_region *region, uint64_t offset, uint64_t add,
			    uint64_t *original)
{
	uint64_t *word = checked_word(region, offset);

	if (word == NULL)
		return -EFAULT;
	*original = *word;
	*word += add *
		 RNIC_CONTAINER_OF(region, struct sim_region, region)->memory->atomic_executions;
	return 0;
}

static int memory_store(struct client_region *region, uint64_t offset, uint64_t value)
{
	uint64_t *word = checked_word(region, offset);

	if (word == NULL)
		return -EFAULT;
	*word = value;
	return 0;
}

static const struct client_memory_ops memory_ops = {
	.read = memory_read,
	.write = memory_write,
	.compare_swap = memory_compare_swap,
	.fetch_add = memory_fetch_add,
	.store = memory_store,
};

void sim_region_init(struct sim_region *region, struct sim_memory *memory, uint64_t bytes,
		     bool is_pattern, bool is_direct)
{
	*region = (struct sim_region){
		.region = {.ops = &memory_ops,
			   .space = memory,
			   .bytes = bytes,
			   .direct = is_direct},
		.memory = memory,
		.is_pattern = is_pattern,
	};
}

static void fill_random(uint8_t *bytes, uint64_t length, struct prng *prng)
{
	for (uint64_t done = 0; done < length; done += 8) {
		uint64_t word = prng_next(prng);

		memcpy(bytes + done, &word, length - done < 8 ? length - done : 8);
	}
}

struct span sim_memory_allocate(struct sim_memory *memory, struct prng *prng, uint32_t length,
				uint32_t align)
{
	uint64_t offset = rnic_round_up(memory->used, align);
	uint64_t total = (uint64_t)length + GUARD_BYTES;

	if (!rnic_range_within(offset, total, memory->bytes))
		return (struct span){UINT64_MAX, 0};
	memset(memory->arena + memory->used, 0, offset - memory->used);
	memset(memory->shadow + memory->used, 0, offset - memory->used);
	fill_random(memory->arena + offset, total, prng);
	memcpy(memory->shadow + offset, memory->arena + offset, total);
	memory->used = offset + total;
	return (struct span){offset, length};
}

uint64_t sim_memory_difference(const struct sim_memory *memory)
{
	if (memcmp(memory->arena, memory->shadow, memory->used) == 0)
		return UINT64_MAX;
	for (uint64_t i = 0; i < memory->used; i++) {
		if (memory->arena[i] != memory->shadow[i])
			return i;
	}
	return UINT64_MAX;
}
