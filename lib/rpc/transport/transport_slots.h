/* SPDX-License-Identifier: MIT */
/*
 * The registered memory that a transport's datagrams are received into and sent from, in slots of
 * one size for each, and the completions that tell which of them are done.
 */
#ifndef LIB_RPC_TRANSPORT_TRANSPORT_SLOTS_H
#define LIB_RPC_TRANSPORT_TRANSPORT_SLOTS_H

#include "rpc/transport/transport_device.h"

/* The identifier of a send's work request is its slot; of a receive's, this and its slot. */
#define TRANSPORT_RECEIVE_ID (1u << 16)

struct transport_slots {
	struct rnic_context *context;
	struct rnic_mr *mr;
	uint8_t *memory;
	uint32_t receive_count;
	uint32_t receive_bytes; /* of a slot */
	uint32_t send_count;	/* at most TRANSPORT_RECEIVE_ID */
	uint32_t send_bytes;
	uint16_t *free; /* slots of sends that nobody uses; the last one is the next */
	uint32_t free_count;
};

/*
 * Makes the memory for the counts and sizes that `slots` has. Errors of rnic_alloc() and
 * rnic_reg_mr(). transport_slots_close() in any case.
 */
int transport_slots_open(struct transport_slots *slots, struct transport_device *device);
void transport_slots_close(struct transport_slots *slots);

/* What is received in a slot, and the memory to post for it. */
uint8_t *transport_slots_received(const struct transport_slots *slots, uint32_t slot);
struct rnic_sge transport_slots_receive_sge(const struct transport_slots *slots, uint32_t slot);

/* The slot that is sent next, of which there must be one, and the memory to post for it. */
uint8_t *transport_slots_room(const struct transport_slots *slots);
uint16_t transport_slots_next(const struct transport_slots *slots);
struct rnic_sge transport_slots_send_sge(const struct transport_slots *slots, uint32_t bytes);

/* That one was posted; and one has completed. */
void transport_slots_take(struct transport_slots *slots);
void transport_slots_give(struct transport_slots *slots, uint16_t slot);

#define TRANSPORT_COMPLETIONS 32

struct transport_completions {
	struct rnic_cq *cq;
	struct rnic_completion polled[TRANSPORT_COMPLETIONS];
	uint32_t count;
	uint32_t next;
};

/* The next completion, until it is asked for again; NULL: none, or *error is not 0. */
const struct rnic_completion *transport_completions_next(struct transport_completions *completions,
							 int *error);

#endif
