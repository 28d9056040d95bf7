/* SPDX-License-Identifier: MIT */
/*
 * The frame of every storm program: seeds one after another, each wholly determined by
 * its number, and the first that fails run again for the sake of its last lines.
 *
 *     PROGRAM [--count N] [--start S]     runs N seeds from S on; N is $RNIC_STORM_SEEDS or 1000
 *             [--jobs N]                  deals them to N processes, at most 256; the totals stay
 *                                         the same
 *     PROGRAM --seed S [--trace]          replays one, printing what happens
 */
#ifndef TESTS_SIM_STORM_MAIN_H
#define TESTS_SIM_STORM_MAIN_H

#include "lib/nic/base/prng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct storm_kind {
	const char *name; /* of the program, before every line */
	/* Runs one seed; `trace` may be NULL. Returns NULL, or the fault. */
	const char *(*run)(uint64_t seed, FILE *trace);
	/* What run() adds to, in the process that calls it: a struct of uint64_t. */
	void *totals;
	size_t totals_bytes;
	/* Prints *totals, without the end of the line. */
	void (*print_totals)(void);
};

/* A storm's dice: a number below `bound`, and whether one in `times` has come. */
static inline uint32_t storm_below(struct prng *prng, uint32_t bound)
{
	return (uint32_t)prng_below(prng, bound);
}

static inline bool storm_one_in(struct prng *prng, uint32_t times)
{
	return storm_below(prng, times) == 0;
}

/* The exit status: 0, 1 when a seed failed, 2 for wrong arguments. */
int storm_main(const struct storm_kind *kind, int argc, char **argv);

#endif
