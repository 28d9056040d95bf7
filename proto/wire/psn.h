/* SPDX-License-Identifier: MIT */
/*
 * Packet sequence numbers: 24 bits that wrap (IBTA 1.4, 9.7.2). A PSN is a struct, so that no code
 * compares two PSNs with `<`: the functions below are the only legal comparisons.
 */
#ifndef PROTO_WIRE_PSN_H
#define PROTO_WIRE_PSN_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_PSN_MASK UINT32_C(0xffffff)

struct rnic_psn {
	uint32_t value; /* always within RNIC_PSN_MASK */
};

static inline struct rnic_psn rnic_psn(uint32_t value)
{
	return (struct rnic_psn){value & RNIC_PSN_MASK};
}

/* The PSN `packets` after `psn` (before it, when negative). */
static inline struct rnic_psn rnic_psn_add(struct rnic_psn psn, int32_t packets)
{
	return rnic_psn(psn.value + (uint32_t)packets);
}

/* How many packets `psn` is after `base`: -2^23 .. 2^23 - 1, negative when it is before. */
static inline int32_t rnic_psn_distance(struct rnic_psn psn, struct rnic_psn base)
{
	uint32_t ahead = (psn.value - base.value) & RNIC_PSN_MASK;

	return (int32_t)(ahead ^ 0x800000) - 0x800000;
}

static inline bool rnic_psn_equal(struct rnic_psn a, struct rnic_psn b)
{
	return a.value == b.value;
}

#endif
