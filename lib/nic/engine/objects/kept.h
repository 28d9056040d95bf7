/* SPDX-License-Identifier: MIT */
/*
 * Copies of the packets that came behind a gap, so that the requester has to send again only what
 * is missing. Nothing is checked, placed, completed or acknowledged before the gap has closed: then
 * the responder takes the packets in PSN order, as if they came now.
 *
 * The memory is the engine's, slots that are allocated with the engine. Each QP may hold
 * LIMIT_KEPT_SHARE times as many as are free, so that one QP leaves some to others. Where there is
 * no slot, the QP that has waited for its gap the longest gives up its own, if that was for
 * LIMIT_KEPT_NS. A packet for which there is no slot is dropped, and asked for again.
 *
 * Runs: a search passes over at most LIMIT_KEPT_RUNS, and what would be one more is dropped, for a
 * peer may send every second packet on purpose.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_KEPT_H
#define LIB_NIC_ENGINE_OBJECTS_KEPT_H

#include "lib/nic/engine/objects/kept_state.h"
#include "proto/wire/packet.h"

struct engine;
struct qp;

struct kept_packet {
	struct rnic_packet packet;    /* its payload is `payload` */
	struct kept_packet *next;     /* by PSN; of a free slot: the next free one */
	struct kept_packet *run_last; /* of the first packet of a run: the last one */
	struct kept_packet *run_next; /* and the first packet of the next run */
	uint8_t payload[RNIC_PAYLOAD_BYTES_MAX];
};

/* `slot_count` may be 0: nothing is kept then. -ENOMEM. */
int kept_pool_init(struct kept_pool *pool, uint32_t slot_count);
void kept_pool_fini(struct kept_pool *pool);

void kept_init(struct kept *kept);

/* Keeps a copy of `packet`, which came behind a gap, if there is room. */
void kept_add(struct qp *qp, const struct rnic_packet *packet);

/*
 * Takes the first packet off the list; the QP has one. The caller gives the packet back once its
 * payload is placed.
 */
struct kept_packet *kept_take_first(struct qp *qp);
void kept_give_back(struct engine *engine, struct kept_packet *packet);

/* Drops all packets that `qp` keeps. */
void kept_forget(struct qp *qp);

/* A gap of `qp` has closed: the QP counts as the one that made progress last. */
void kept_note_progress(struct qp *qp);

#endif
