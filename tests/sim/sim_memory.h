/* SPDX-License-Identifier: MIT */
/*
 * The memory of a simulated host: a flat arena that the engine reaches through a model_memory, and
 * beside the arena its shadow, which holds what the arena should hold. Only the oracle writes the
 * shadow, when a completion says that bytes have moved; at the end both must be equal, guard bytes
 * included.
 */
#ifndef TESTS_SIM_SIM_MEMORY_H
#define TESTS_SIM_SIM_MEMORY_H

#include "lib/nic/base/prng.h"

#include <stdbool.h>
#include <stdint.h>

struct span {
	uint64_t offset;
	uint32_t length;
};

struct sim_memory {
	uint8_t *arena;
	uint8_t *shadow;
	uint64_t bytes;
	uint64_t used;
};

bool sim_memory_init(struct sim_memory *memory, uint64_t bytes);
void sim_memory_fini(struct sim_memory *memory);

/*
 * A fresh range of random bytes, the same in arena and shadow, at a multiple of `align` (a power of
 * two) and followed by random guard bytes. Offset UINT64_MAX when the arena is full.
 */
struct span sim_memory_allocate(struct sim_memory *memory, struct prng *prng, uint32_t length,
				uint32_t align);

/*
 * The last `length` bytes, which must not be allocated: the same offset always gets the same byte.
 * Offset UINT64_MAX when some are.
 */
struct span sim_memory_end(struct sim_memory *memory, uint32_t length);

/* The first offset at which arena and shadow differ; UINT64_MAX when they are equal. */
uint64_t sim_memory_difference(const struct sim_memory *memory);

#endif
