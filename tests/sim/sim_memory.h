/* SPDX-License-Identifier: MIT */
/*
 * The memory of a simulated host: a flat arena that the engine reaches through client_memory_ops,
 * and beside it the shadow, which is what the arena should hold. Only the oracle writes the shadow,
 * when a completion says that bytes have moved; at the end both must be equal, guard bytes
 * included.
 *
 * For messages too large to keep there are pattern regions: what is read from one is a function of
 * the offset, and what is written to one is compared with it and thrown away.
 */
#ifndef TESTS_SIM_MEMORY_H
#define TESTS_SIM_MEMORY_H

#include "base/prng.h"
#include "mem/client_memory.h"

#include <stdbool.h>
#include <stdint.h>

struct span {
	uint64_t offset;
	uint32_t length;
};

struct sim_region {
	struct client_region region;
	struct sim_memory *memory;
	bool is_gone; /* every access fails with -EFAULT */
	bool is_pattern;
	uint64_t pattern_end;	/* bytes [0, pattern_end) were written at least once */
	uint64_t pattern_wrong; /* bytes that differed, or were written beyond a gap */
};

struct sim_memory {
	uint8_t *arena;
	uint8_t *shadow;
	uint64_t bytes;
	uint64_t used;
	uint64_t skip_bytes; /* sabotage: this many bytes at the end of a write are not written */
	uint32_t atomic_executions; /* sabotage: how often an atomic is carried out; 1 */
	uint64_t accesses;
};

bool sim_memory_init(struct sim_memory *memory, uint64_t bytes);
void sim_memory_fini(struct sim_memory *memory);

void sim_region_init(struct sim_region *region, struct sim_memory *memory, uint64_t bytes,
		     bool is_pattern, bool is_direct);

/*
 * A fresh range of random bytes, the same in arena and shadow, at a multiple of `align` (a power of
 * two) and followed by random guard bytes. Offset UINT64_MAX when the arena is full.
 */
struct span sim_memory_allocate(struct sim_memory *memory, struct prng *prng, uint32_t length,
				uint32_t align);

/* The first offset at which arena and shadow differ; UINT64_MAX when they are equal. */
uint64_t sim_memory_difference(const struct sim_memory *memory);

#endif
