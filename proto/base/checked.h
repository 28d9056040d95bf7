/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic on numbers that a client or the wire chose. Every such addition and range check uses
 * these functions, so that none can wrap.
 */
#ifndef PROTO_BASE_CHECKED_H
#define PROTO_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/* Stores a + b and returns true, or returns false when the sum does not fit in 64 bits. */
static inline bool rnic_try_add(uint64_t a, uint64_t b, uint64_t *sum)
{
	return !__builtin_add_overflow(a, b, sum);
}

/* Stores a * b and returns true, or returns false when the product does not fit in 64 bits. */
static inline bool rnic_try_multiply(uint64_t a, uint64_t b, uint64_t *product)
{
	return !__builtin_mul_overflow(a, b, product);
}

/* Whether [offset, offset + length) lies within [0, size). An empty range at `size` does. */
static inline bool rnic_range_within(uint64_t offset, uint64_t length, uint64_t size)
{
	return offset <= size && length <= size - offset;
}

#endif
