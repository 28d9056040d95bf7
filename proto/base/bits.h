/* SPDX-License-Identifier: MIT */
/* Powers of two, rounding, and the size of arrays. Pure, usable in static assertions. */
#ifndef PROTO_BASE_BITS_H
#define PROTO_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RNIC_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The struct of type `type` whose `member` is at `pointer`. */
#define RNIC_CONTAINER_OF(pointer, type, member)                                                   \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static inline bool rnic_is_power_of_two(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

/* The smallest power of two that is at least `value`; 1 for 0. `value` must be at most 2^63. */
static inline uint64_t rnic_power_of_two_at_least(uint64_t value)
{
	return value <= 1 ? 1 : UINT64_C(1) << (64 - __builtin_clzll(value - 1));
}

/* `value` rounded up to a multiple of `unit`, a power of two. The caller rules out overflow. */
static inline uint64_t rnic_round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) & ~(unit - 1);
}

/* Spreads a number over all bits, one to one: the finishing step of splitmix64. */
static inline uint64_t rnic_mix64(uint64_t number)
{
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

#endif
