/* SPDX-License-Identifier: MIT */
/* Nanoseconds of other units of time, and the earliest of several times. */
#ifndef PROTO_BASE_TIME_UNITS_H
#define PROTO_BASE_TIME_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define RNIC_NS_PER_US	   UINT64_C(1000)
#define RNIC_NS_PER_MS	   UINT64_C(1000000)
#define RNIC_NS_PER_SECOND UINT64_C(1000000000)
#define RNIC_NS_PER_MINUTE UINT64_C(60000000000)

/* Returns the earliest of `count` deadlines; UINT64_MAX: there is none. */
static inline uint64_t rnic_earliest_ns(const uint64_t *deadlines_ns, size_t count)
{
	uint64_t earliest_ns = UINT64_MAX;

	for (size_t i = 0; i < count; i++)
		if (deadlines_ns[i] < earliest_ns)
			earliest_ns = deadlines_ns[i];
	return earliest_ns;
}

#endif
