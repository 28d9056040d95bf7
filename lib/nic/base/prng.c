/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/prng.h"

#include "proto/base/bits.h"

#include <string.h>

static uint64_t splitmix64_next(uint64_t *state)
{
	return rnic_mix64(*state += UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t rotate_left(uint64_t value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

void prng_init(struct prng *prng, uint64_t seed)
{
	for (unsigned int i = 0; i < 4; i++)
		prng->state[i] = splitmix64_next(&seed);
}

uint64_t prng_next(struct prng *prng)
{
	uint64_t *state = prng->state;
	uint64_t result = rotate_left(state[1] * 5, 7) * 9;
	uint64_t shifted = state[1] << 17;

	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= shifted;
	state[3] = rotate_left(state[3], 45);
	return result;
}

uint64_t prng_below(struct prng *prng, uint64_t bound)
{
	const struct random_source source = prng_source(prng);

	return random_source_below(&source, bound);
}

/* The state is copied, so that it stays in registers: `bytes` might alias the caller's. */
static void prng_fill(void *context, void *bytes, size_t count)
{
	struct prng *caller = context;
	struct prng prng = *caller;
	uint8_t *out = bytes;
	uint64_t value;

	for (; count >= sizeof(value); count -= sizeof(value), out += sizeof(value)) {
		value = prng_next(&prng);
		memcpy(out, &value, sizeof(value));
	}
	if (count != 0) {
		value = prng_next(&prng);
		memcpy(out, &value, count);
	}
	*caller = prng;
}

struct random_source prng_source(struct prng *prng)
{
	return (struct random_source){.fill = prng_fill, .context = prng};
}
