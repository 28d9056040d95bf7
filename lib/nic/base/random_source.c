/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/random_source.h"

#include <assert.h>

uint64_t random_source_next(const struct random_source *source)
{
	uint64_t value;

	source->fill(source->context, &value, sizeof(value));
	return value;
}

uint64_t random_source_below(const struct random_source *source, uint64_t bound)
{
	uint64_t value, excess;

	assert(bound != 0);
	/* The first 2^64 mod bound values would make small results more likely. */
	excess = -bound % bound;
	do {
		value = random_source_next(source);
	} while (value < excess);
	return value % bound;
}
