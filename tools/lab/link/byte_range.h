/* SPDX-License-Identifier: MIT */
/* A range of positions as a user types it: "start end", both inclusive. Pure. */
#ifndef TOOLS_LAB_LINK_BYTE_RANGE_H
#define TOOLS_LAB_LINK_BYTE_RANGE_H

#include <stdint.h>

/* The bytes at positions `first` to `last`, first <= last. */
struct byte_range {
	uint32_t first;
	uint32_t last;
};

/*
 * Reads two decimal numbers with blanks around them. -EINVAL: `text` is something else, or the
 * first number is larger than the second. -ERANGE: a position has more than 32 bits.
 */
int byte_range_parse(const char *text, struct byte_range *range);

/* Whether the whole range is within `bytes` bytes. */
static inline int byte_range_is_within(const struct byte_range *range, uint32_t bytes)
{
	return range->last < bytes;
}

#endif
