/* SPDX-License-Identifier: MIT */
/* What a QP holds of the holes that it tells, and of those that it was told; see holes.h. */
#ifndef LIB_NIC_ENGINE_RELIABILITY_HOLES_STATE_H
#define LIB_NIC_ENGINE_RELIABILITY_HOLES_STATE_H

#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

/* The first byte of the payload; exact_credits.h has the last two. */
enum holes_kind {
	HOLES_KIND_NONE = -1,
	HOLES_KIND_OFFER = 0,
	HOLES_KIND_REPORT = 1,
	HOLES_KIND_CREDITS_QUESTION = 2,
	HOLES_KIND_CREDITS = 3,
};

#define HOLES_PREFIX_BYTES 2
#define HOLES_MAX	   8
#define HOLES_BYTES	   (HOLES_PREFIX_BYTES + 6 * HOLES_MAX)

struct hole {
	struct rnic_psn start;
	struct rnic_psn end;
};

struct holes {
	uint32_t count;
	struct hole holes[HOLES_MAX]; /* in PSN order */
};

/* The responder's part. */
struct holes_report {
	uint64_t told_ns;
	bool is_understood; /* the peer has made an offer */
	bool is_owed;
	uint8_t bytes[HOLES_BYTES]; /* of the last report */
};

#endif
