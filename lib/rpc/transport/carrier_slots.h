/* SPDX-License-Identifier: MIT */
/*
 * The registered memory that a carrier's datagrams are received into and sent from, in slots of one
 * size for each, and the completions that tell which of them are done.
 */
#ifndef LIB_RPC_TRANSPORT_CARRIER_SLOTS_H
#define LIB_RPC_TRANSPORT_CARRIER_SLOTS_H

#include "rpc/transport/carrier_device.h"

/* Work requests of sends are their slots; those of receives are RECEIVE_ID and theirs. */
#define CARRIER_RECEIVE_ID (1u << 16)

struct carrier_slots {
	struct rnic_context *context;
	struct rnic_mr *mr;
	uint8_t *memory;
	uint32_t receive_count;
	uint32_t receive_bytes; /* of a slot */
	uint32_t send_count;	/* at most CARRIER_RECEIVE_ID */
	uint32_t send_bytes;
	uint16_t *free; /* slots of sends that nobody uses; the last one is the next */
	uint32_t free_count;
};

/*
 * Makes the memory for the counts and sizes that `slots` has. Errors of rnic_alloc() and
 * rnic_reg_mr(). carrier_slots_close() in any case.
 */
int carrier_slots_open(struct carrier_slots *slots, struct carrier_device *device);
void carrier_slots_close(struct carrier_slots *slots);

/* What is received in a slot, and the memory to post for it. */
uint8_t *carrier_slots_received(const struct carrier_slots *slots, uint32_t slot);
struct rnic_sge carrier_slots_receive_sge(const struct carrier_slots *slots, uint32_t slot);

/* The slot that is sent next, of which there must be one, and the memory to post for it. */
uint8_t *carrier_slots_room(const struct carrier_slots *slots);
uint16_t carrier_slots_next(const struct carrier_slots *slots);
struct rnic_sge carrier_slots_send_sge(const struct carrier_slots *slots, uint32_t bytes);

/* That one was posted; and one has completed. */
void carrier_slots_take(struct carrier_slots *slots);
void carrier_slots_give(struct carrier_slots *slots, uint16_t slot);

#define CARRIER_COMPLETIONS 32

struct carrier_completions {
	struct rnic_cq *cq;
	struct rnic_completion polled[CARRIER_COMPLETIONS];
	uint32_t count;
	uint32_t next;
};

/* The next completion, until it is asked for again; NULL: none, or *error is not 0. */
const struct rnic_completion *carrier_completions_next(struct carrier_completions *completions,
						       int *error);

#endif
