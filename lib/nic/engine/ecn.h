/* SPDX-License-Identifier: MIT */
/* The two bits of the traffic class that tell of congestion (RFC 3168, 5). */
#ifndef LIB_NIC_ENGINE_ECN_H
#define LIB_NIC_ENGINE_ECN_H

#include <stdbool.h>
#include <stdint.h>

#define ECN_MASK       UINT8_C(3)
#define ECN_CAPABLE    UINT8_C(2) /* ECT(0) */
#define ECN_CONGESTION UINT8_C(3) /* CE */

/* `traffic_class` of a packet that may be marked instead of dropped. */
static inline uint8_t ecn_allow_marks(uint8_t traffic_class)
{
	return (uint8_t)((traffic_class & ~ECN_MASK) | ECN_CAPABLE);
}

static inline bool ecn_is_marked(uint8_t traffic_class)
{
	return (traffic_class & ECN_MASK) == ECN_CONGESTION;
}

#endif
