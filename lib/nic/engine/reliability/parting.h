/* SPDX-License-Identifier: MIT */
/*
 * The acknowledgements that queue pairs leave behind. A program that has seen a message may end its
 * queue pair at once, and the peer still waits for the acknowledgement: one that was owed is kept
 * here as a whole packet, and is the next thing that the engine sends. Where there is no room, the
 * acknowledgement counts as lost by the network.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_PARTING_H
#define LIB_NIC_ENGINE_RELIABILITY_PARTING_H

#include "proto/wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

struct parting {
	struct rnic_packet *packets; /* LIMIT_PARTING_PACKETS */
	uint32_t first;		     /* both grow modulo 2^32 */
	uint32_t end;
};

int parting_init(struct parting *parting); /* -ENOMEM */
void parting_fini(struct parting *parting);

/* Keeps `packet`, which has no payload. */
void parting_add(struct parting *parting, const struct rnic_packet *packet);

/* Takes the oldest packet; there must be one (asserted). */
void parting_take(struct parting *parting, struct rnic_packet *packet);

static inline bool parting_is_empty(const struct parting *parting)
{
	return parting->first == parting->end;
}

#endif
