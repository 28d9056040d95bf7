/* SPDX-License-Identifier: MIT */
/*
 * The responder's memory of READs, atomics, FLUSHes and ATOMIC WRITEs: requests still to be
 * answered, and answered requests, kept so that a duplicate gets the same answer (IBTA 1.4, 9.4.5
 * and 9.7.5.1: an atomic executes once).
 *
 * A ring of max_dest_rd_atomic slots ordered by PSN; a new request evicts the oldest, if it was
 * answered.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_RESPONDER_RESOURCES_H
#define LIB_NIC_ENGINE_OBJECTS_RESPONDER_RESOURCES_H

#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

struct mr;

/* A range of packets of the request's answer; a READ asked for again may want a part only. */
struct responder_resources_answer {
	uint32_t first_packet; /* index of the packet that is FIRST (or ONLY) */
	uint32_t next_packet;  /* index of the packet to build next */
	uint32_t end_packet;   /* one past the last */
	uint32_t end_bytes;    /* of the request's bytes, where the last packet ends */
};

struct responder_resource {
	struct rnic_psn psn;
	uint32_t packets; /* PSNs that the answer takes: 1 unless it is a READ */
	uint32_t rkey;
	uint32_t srqn; /* XRC: whose protection domain the key is of */
	uint64_t address;
	uint32_t length;
	uint32_t msn;	   /* of this request */
	uint64_t original; /* atomic: the value before */
	uint8_t operation; /* enum rnic_operation */
	bool is_pending;   /* `answer` is not yet built to its end */
	bool is_repeat;	   /* it was answered in full before: may be evicted even when pending */
	struct responder_resources_answer answer;
};

struct responder_resources {
	struct responder_resource
		*slots; /* LIMIT_RD_ATOMIC at most, allocated when the QP's limit is known */
	uint32_t count; /* of slots */
	uint32_t first; /* oldest in use */
	uint32_t used;
};

int responder_resources_init(struct responder_resources *ring,
			     uint32_t max_dest_rd_atomic); /* -ENOMEM */
void responder_resources_fini(struct responder_resources *ring);
void responder_resources_clear(struct responder_resources *ring);

/* Whether replay_add() has a slot: a slot is free, or the oldest request was answered. */
bool responder_resources_has_space(const struct responder_resources *ring);

/* A zeroed slot for a new request, behind all others; replay_has_space() must hold. */
struct responder_resource *responder_resources_add(struct responder_resources *ring);

/* The remembered request whose answer covers `psn`; NULL when it is forgotten. */
struct responder_resource *responder_resources_find(struct responder_resources *ring,
						    struct rnic_psn psn);

/* The oldest request that lies behind `psn` and before `end`; NULL when none is remembered. */
const struct responder_resource *
responder_resources_find_between(const struct responder_resources *ring, struct rnic_psn psn,
				 struct rnic_psn end);

/* The oldest that is still to be answered; NULL when none. */
struct responder_resource *responder_resources_next_pending(struct responder_resources *ring);

/* Answers that reach to `psn` or beyond will not be sent. */
void responder_resources_cancel_from(struct responder_resources *ring, struct rnic_psn psn);

/* Asserts that answers lie within their requests, and are pending only while packets are left. */
void responder_resources_check_invariants(const struct responder_resources *ring);

#endif
