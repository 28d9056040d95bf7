/* SPDX-License-Identifier: MIT */
/*
 * The registered memory for a transport's datagrams, in slots of one size for sends and one for
 * receives, and the completions that report which slots are done.
 */
#ifndef LIB_APIS_RPC_TRANSPORT_TRANSPORT_SLOTS_H
#define LIB_APIS_RPC_TRANSPORT_TRANSPORT_SLOTS_H

#include "lib/apis/rpc/transport/transport_device.h"

/* The wr_id of a send is its slot; the wr_id of a receive is this number plus its slot. */
#define TRANSPORT_RECEIVE_ID (1u << 16)

struct transport_slots {
	struct rnic_context *context;
	struct rnic_mr *mr;
	uint8_t *memory;
	uint32_t receive_count;
	uint32_t receive_bytes; /* of a slot */
	uint32_t send_count;	/* at most TRANSPORT_RECEIVE_ID */
	uint32_t send_bytes;
	uint16_t *free; /* unused slots of sends; the last one is the next */
	uint32_t free_count;
};

/*
 * Allocates the memory for the counts and sizes in `slots`. Errors of rnic_alloc() and
 * rnic_reg_mr(). Call transport_slots_close() in any case.
 */
int transport_slots_open(struct transport_slots *slots, struct transport_device *device);
void transport_slots_close(struct transport_slots *slots);

/* The datagram in a receive slot, and the memory to post for it. */
uint8_t *transport_slots_received(const struct transport_slots *slots, uint32_t slot);
struct rnic_sge transport_slots_receive_sge(const struct transport_slots *slots, uint32_t slot);

/* The next free send slot, which must exist, and the memory to post for it. */
uint8_t *transport_slots_room(const struct transport_slots *slots);
uint16_t transport_slots_next(const struct transport_slots *slots);
struct rnic_sge transport_slots_send_sge(const struct transport_slots *slots, uint32_t bytes);

/* Notes that this slot was posted; and that a send has completed. */
void transport_slots_take(struct transport_slots *slots);
void transport_slots_give(struct transport_slots *slots, uint16_t slot);

#define TRANSPORT_COMPLETIONS 32

struct transport_completions {
	struct rnic_cq *cq;
	struct rnic_completion polled[TRANSPORT_COMPLETIONS];
	uint32_t count;
	uint32_t next;
};

/* The next completion, valid until the next call; NULL: none, or *error is not 0. */
const struct rnic_completion *transport_completions_next(struct transport_completions *completions,
							 int *error);

#endif
