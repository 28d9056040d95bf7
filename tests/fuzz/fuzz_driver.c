/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer, on a fixed series of random inputs: the target then
 * compiles and holds in every build. Half of the inputs are sparse, because few bytes of a message
 * are free. A target with seeds gets as many inputs more, which are seeds with some changed bytes.
 */
#include "tests/fuzz/fuzz_seeds.h"

#include <stdlib.h>

#define INPUTS	    1000
#define INPUT_BYTES FUZZ_SEED_BYTES_MAX

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* xorshift64: the series is the same in every run and on every machine. */
static uint64_t next_random(void)
{
	static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void run_random(uint8_t *input, unsigned number)
{
	const size_t bytes = next_random() % (INPUT_BYTES + 1);

	for (size_t at = 0; at < bytes; at++) {
		const uint64_t random = next_random();

		input[at] = number % 2 == 0 || random >> 60 == 0 ? (uint8_t)random : 0;
	}
	LLVMFuzzerTestOneInput(input, bytes);
}

#ifdef FUZZ_SEEDED
static void run_seed(uint8_t *input, unsigned number)
{
	const size_t bytes = fuzz_seed(number, input);

	for (unsigned changes = number % 4; changes > 0; changes--)
		input[next_random() % bytes] = (uint8_t)next_random();
	LLVMFuzzerTestOneInput(input, bytes);
}
#else
static void run_seed(uint8_t *input, unsigned number)
{
	(void)input;
	(void)number;
}
#endif

int main(void)
{
	uint8_t *input = malloc(INPUT_BYTES);

	if (input == NULL)
		return 1;
	for (unsigned i = 0; i < INPUTS; i++) {
		run_random(input, i);
		run_seed(input, i);
	}
	free(input);
	return 0;
}
