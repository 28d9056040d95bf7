/* SPDX-License-Identifier: MIT */
/*
 * A seeded generator of pseudo-random numbers: xoshiro256** of Blackman and Vigna, its state spread
 * from the seed by splitmix64. The same seed gives the same sequence on every machine, so that a
 * simulation can replay. The numbers can be guessed: in production QPNs, keys and PSNs come from
 * another random_source.
 */
#ifndef LIB_NIC_BASE_PRNG_H
#define LIB_NIC_BASE_PRNG_H

#include "lib/nic/base/random_source.h"

#include <stdint.h>

struct prng {
	uint64_t state[4];
};

void prng_init(struct prng *prng, uint64_t seed);

/* 64 uniform bits. */
uint64_t prng_next(struct prng *prng);

/* Uniform in [0, bound); `bound` must not be 0. */
uint64_t prng_below(struct prng *prng, uint64_t bound);

/* A source that draws from `prng`, which must stay in place: 64 bits for each 8 bytes begun. */
struct random_source prng_source(struct prng *prng);

#endif
