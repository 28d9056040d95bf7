/* SPDX-License-Identifier: MIT */
/*
 * The responder's memory of READs and atomics: those still to be answered, and those answered, kept so
 * that a duplicate gets the same answer (IBTA 1.4, 9.7.4.5 and 9.4.5: an atomic executes once).
 *
 * A ring of max_dest_rd_atomic slots ordered by PSN; a new request evicts the oldest that was answered.
 */
#ifndef DAEMON_ENGINE_REPLAY_H
#define DAEMON_ENGINE_REPLAY_H

#include "wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

struct mr;

struct replay {
	struct rnic_psn psn;
	uint32_t packets; /* PSNs that the answer takes: 1 for an atomic */
	uint32_t rkey;
	uint64_t address;
	uint32_t length;
	uint32_t msn; /* of this request */
	uint64_t original; /* atomic: the value before */
	bool is_atomic;
	bool is_pending; /* not yet fully answered */
	uint32_t sent_packets;
};

struct replay_ring {
	struct replay *slots; /* LIMIT_RD_ATOMIC at most, allocated when the QP's limit is known */
	uint32_t count;	      /* of slots */
	uint32_t first;	      /* oldest in use */
	uint32_t used;
};

int replay_init(struct replay_ring *ring, uint32_t max_dest_rd_atomic); /* -ENOMEM */
void replay_fini(struct replay_ring *ring);
void replay_clear(struct replay_ring *ring);

/* A slot for a new request, evicting the oldest answered one; NULL when all are pending. */
struct replay *replay_add(struct replay_ring *ring);

/* The remembered request whose answer covers `psn`; NULL when it is forgotten. */
struct replay *replay_find(struct replay_ring *ring, struct rnic_psn psn);

/* The oldest that is still to be answered; NULL when none. */
struct replay *replay_next_pending(struct replay_ring *ring);

#endif
