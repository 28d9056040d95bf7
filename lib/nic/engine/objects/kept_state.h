/* SPDX-License-Identifier: MIT */
/* What the engine and each QP hold of kept packets; see kept.h. */
#ifndef LIB_NIC_ENGINE_OBJECTS_KEPT_STATE_H
#define LIB_NIC_ENGINE_OBJECTS_KEPT_STATE_H

#include "lib/nic/base/list.h"

#include <stdint.h>

struct kept_packet;

/* The engine's slots, all of one size. */
struct kept_pool {
	struct kept_packet *slots;
	struct kept_packet *free; /* those that were in use before */
	uint32_t slot_count;
	uint32_t touched_count; /* slots behind them were never in use */
	uint32_t used_count;
	struct list keepers;		/* struct kept, the longest without progress first */
	struct list draining;		/* struct qp.kept whose first packet is expected */
	struct list draining_responses; /* struct qp.kept_responses, likewise */
};

/* The packets of a QP behind a gap of one direction, in PSN order; a run is packets that follow
 * each other. */
struct kept {
	struct kept_packet *first;    /* NULL: none */
	struct kept_packet *last_run; /* the first packet of the last run */
	uint32_t packet_count;
	uint32_t run_count;
	uint64_t progress_ns;	/* when the QP began to keep packets, or a gap closed */
	struct list node;	/* in keepers */
	struct list drain_node; /* in draining or draining_responses */
};

#endif
