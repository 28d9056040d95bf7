/* SPDX-License-Identifier: MIT */
/*
 * Where QPNs, keys, the CM's identifiers and PSNs come from. The owner gives the source: the
 * kernel's random numbers in production, a seeded generator (prng.h) where a run must repeat.
 */
#ifndef LIB_NIC_BASE_RANDOM_SOURCE_H
#define LIB_NIC_BASE_RANDOM_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct random_source {
	/* Stores `count` random bytes at `bytes`. Must not fail: callers have no way out. */
	void (*fill)(void *context, void *bytes, size_t count);
	void *context;
};

/* 64 uniform bits. */
uint64_t random_source_next(const struct random_source *source);

/* Uniform in [0, bound); `bound` must not be 0. */
uint64_t random_source_below(const struct random_source *source, uint64_t bound);

#endif
