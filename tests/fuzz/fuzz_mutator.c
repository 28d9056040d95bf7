/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer's inputs of a target that has seeds (fuzz_seeds.h): one in sixteen comes from a seed,
 * also when libFuzzer has no input yet.
 */
#include "tests/fuzz/fuzz_seeds.h"

#include <string.h>

#define SEED_PARTS 16

/* libFuzzer's names. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int random);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int random)
{
	uint8_t seed[FUZZ_SEED_BYTES_MAX];

	if (size > 1 && random % SEED_PARTS != 0)
		return LLVMFuzzerMutate(data, size, max_size);
	size = fuzz_seed(random / SEED_PARTS, seed);
	if (size > max_size)
		size = max_size;
	memcpy(data, seed, size);
	return size;
}
