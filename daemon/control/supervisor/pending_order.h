/* SPDX-License-Identifier: MIT */
/*
 * An order to one device process, and its answer. A process has one slot, for the orders of all
 * askers one after the other. Pure: device_orders.h sends.
 *
 * The slot becomes free at its deadline, whatever happened to the asker. An answer that comes later
 * is dropped.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_PENDING_ORDER_H
#define DAEMON_CONTROL_SUPERVISOR_PENDING_ORDER_H

#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stdint.h>

enum pending_order_state {
	PENDING_ORDER_FREE,
	PENDING_ORDER_SENT,
	PENDING_ORDER_ANSWERED,
};

struct pending_order {
	enum pending_order_state state;
	uint64_t until_ns; /* unless FREE */
	struct rnic_process_order_reply answer;
	uint32_t request_id; /* of the latest order */
};

/* Notes an order that was sent with the next number, which pending_order_next() says. */
void pending_order_note(struct pending_order *slot, uint64_t until_ns);

/* The request_id of the next order; never 0. */
uint32_t pending_order_next(const struct pending_order *slot);

/* Takes an answer. False: no such order was ever sent, or the answer is none. */
bool pending_order_take(struct pending_order *slot, const struct rnic_process_order_reply *answer);

/* Frees the slot when its deadline has passed. Returns whether it did. */
bool pending_order_expire(struct pending_order *slot, uint64_t now_ns);

/* When pending_order_expire() has something to do; UINT64_MAX: never. */
static inline uint64_t pending_order_deadline_ns(const struct pending_order *slot)
{
	return slot->state == PENDING_ORDER_FREE ? UINT64_MAX : slot->until_ns;
}

#endif
