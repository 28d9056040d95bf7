/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_memory.h"

#include "proto/base/bits.h"
#include "proto/base/checked.h"

#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 16

bool sim_memory_init(struct sim_memory *memory, uint64_t bytes)
{
	*memory = (struct sim_memory){.bytes = bytes};
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

struct span sim_memory_allocate(struct sim_memory *memory, struct prng *prng, uint32_t length,
				uint32_t align)
{
	uint64_t offset = rnic_round_up(memory->used, align);
	uint64_t total = (uint64_t)length + GUARD_BYTES;
	struct random_source random = prng_source(prng);

	if (!rnic_range_within(offset, total, memory->bytes))
		return (struct span){UINT64_MAX, 0};
	memset(memory->arena + memory->used, 0, offset - memory->used);
	memset(memory->shadow + memory->used, 0, offset - memory->used);
	random.fill(random.context, memory->arena + offset, total);
	memcpy(memory->shadow + offset, memory->arena + offset, total);
	memory->used = offset + total;
	return (struct span){offset, length};
}

struct span sim_memory_end(struct sim_memory *memory, uint32_t length)
{
	uint64_t offset = memory->bytes - length;

	if (length > memory->bytes || offset < memory->used)
		return (struct span){UINT64_MAX, 0};
	for (uint64_t i = offset; i < memory->bytes; i++)
		memory->arena[i] = memory->shadow[i] = (uint8_t)(i * 167 >> 3);
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
