/* SPDX-License-Identifier: MIT */
/* Nanoseconds of other units of time. */
#ifndef RNIC_PROTO_BASE_TIME_UNITS_H
#define RNIC_PROTO_BASE_TIME_UNITS_H

#include <stdint.h>

#define RNIC_NS_PER_MS	   UINT64_C(1000000)
#define RNIC_NS_PER_SECOND UINT64_C(1000000000)
#define RNIC_NS_PER_MINUTE UINT64_C(60000000000)

#endif
