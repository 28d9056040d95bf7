/* SPDX-License-Identifier: MIT */
/*
 * Copies of the packets that came behind a gap, so that only what is missing has to be sent again:
 * requests at the responder, and responses at the requester (response_gap.h). Nothing is placed,
 * completed or acknowledged before the gap has closed: then the packets are taken in PSN order, as
 * if they came now.
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

#include <stdbool.h>

struct engine;

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

/* Keeps a copy of `packet`, which came behind a gap. False: there is no room. */
bool kept_add(struct engine *engine, struct kept *kept, const struct rnic_packet *packet);

/*
 * Takes the first packet off the list; there is one. The caller gives the packet back once its
 * payload is placed.
 */
struct kept_packet *kept_take_first(struct kept *kept);
void kept_give_back(struct engine *engine, struct kept_packet *packet);

/* Gives back packets that were taken, a list by `next`. */
void kept_give_back_all(struct engine *engine, struct kept_packet *packets);

/* Drops all packets. */
void kept_forget(struct engine *engine, struct kept *kept);

/* A gap has closed: `kept` counts as the one that made progress last. */
void kept_note_progress(struct engine *engine, struct kept *kept);

#endif
