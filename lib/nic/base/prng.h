/* SPDX-License-Identifier: MIT */
/*
 * A seeded generator of pseudo-random numbers: xoshiro256** of Blackman and Vigna, its state spread
 * from the seed by splitmix64. The same seed gives the same sequence on every machine, which is
 * what lets a simulation replay; production seeds it from the system's entropy.
 *
 * It makes numbers hard to guess, not secret: nothing that must be a secret may come from it.
 */
#ifndef NIC_BASE_PRNG_H
#define NIC_BASE_PRNG_H

#include <stdint.h>

struct prng {
	uint64_t state[4];
};

void prng_init(struct prng *prng, uint64_t seed);

/* 64 uniform bits. */
uint64_t prng_next(struct prng *prng);

/* Uniform in [0, bound); `bound` must not be 0. */
uint64_t prng_below(struct prng *prng, uint64_t bound);

#endif
