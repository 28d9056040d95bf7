/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer, on a fixed series of random inputs: the target then
 * compiles and holds in every build. Half of the inputs are sparse, because few bytes of a message
 * are free.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define INPUTS	    1000
#define INPUT_BYTES 1024

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

int main(void)
{
	uint8_t *input = malloc(INPUT_BYTES);

	if (input == NULL)
		return 1;
	for (unsigned i = 0; i < INPUTS; i++) {
		const size_t bytes = next_random() % (INPUT_BYTES + 1);

		for (size_t at = 0; at < bytes; at++) {
			const uint64_t random = next_random();

			input[at] = i % 2 == 0 || random >> 60 == 0 ? (uint8_t)random : 0;
		}
		LLVMFuzzerTestOneInput(input, bytes);
	}
	free(input);
	return 0;
}
