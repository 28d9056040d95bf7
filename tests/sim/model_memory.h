/* SPDX-License-Identifier: MIT */
/*
 * Client memory of the tests: one region whose bytes the engine reaches through client_memory_ops,
 * and which fails or misbehaves as a test wants. The engine checks ranges and the alignment of
 * atomics before an access; the model asserts both.
 *
 * For messages too large to keep there are pattern regions: bytes read from a pattern region are a
 * function of the offset, and bytes written to one are compared with that function and dropped.
 */
#ifndef TESTS_SIM_MODEL_MEMORY_H
#define TESTS_SIM_MODEL_MEMORY_H

#include "lib/nic/mem/client_memory.h"

#include <stdbool.h>
#include <stdint.h>

struct model_memory {
	struct client_region region;
	uint8_t *bytes;		/* the caller's; NULL: a pattern region */
	int error;		/* every access fails with this error; 0: none does */
	uint64_t gone_from;	/* accesses at this offset and behind fail with -EFAULT */
	uint32_t atomics;	/* carried out */
	uint64_t pattern_end;	/* bytes [0, pattern_end) were written at least once */
	uint64_t pattern_wrong; /* bytes that differed, or were written beyond a gap */

	/* Sabotage, to prove that a check notices. */
	uint64_t skip_bytes;	    /* this many bytes at the end of a write are not written */
	uint32_t atomic_executions; /* how often a fetch-and-add is carried out; 1 */
};

/* The bytes stay the caller's. The region is a space of its own. */
void model_memory_init(struct model_memory *memory, uint8_t *bytes, uint64_t length,
		       bool is_direct);

#endif
