/* SPDX-License-Identifier: MIT */
/*
 * Datagrams of sessions over connections of RC queue pairs, one connection for a session. All share
 * one completion queue, one shared receive queue and one block of registered memory, so that a
 * connection costs a queue pair and no more. The queue has an entry for all that can be under way.
 *
 * A connection is in the carrier's list from its beginning until its queue pair is destroyed, which
 * waits for its completions. In between it is a way (carrier.h) of whoever called seek() or, of one
 * that was accepted, open_way().
 *
 * A peer that acknowledges nothing keeps what was sent to it under way until the retries end. So
 * each connection has a send and a write that no other can take, and of those that all share no
 * more than it leaves for the others.
 */
#ifndef LIB_RPC_TRANSPORT_RC_CARRIER_H
#define LIB_RPC_TRANSPORT_RC_CARRIER_H

#include "rpc/transport/carrier.h"
#include "rpc/transport/carrier_slots.h"

#define RC_DATAGRAM_BYTES 4096u
/* Sends and writes of one connection that have not completed. */
#define RC_SENDS_MAX 32u

struct rc_connection;

/* Sends, or writes, that can still be begun. */
struct rc_budget {
	uint32_t left;
	uint32_t left_to_share; /* beyond the one that each connection has for itself */
};

struct rc_carrier {
	struct carrier base;
	struct carrier_device *device;
	struct carrier_slots slots;
	struct carrier_completions completions;
	struct rnic_srq *srq;
	struct rc_budget sends;		   /* that have not completed */
	struct rc_budget writes;	   /* as many as sends */
	struct rc_connection *connections; /* a list, the newest first */
	struct carrier_ring *rings;	   /* a list */
	uint32_t connection_count;
	uint32_t connections_max;
	uint32_t lost_count;   /* whose owners were not told yet */
	uint32_t ending_count; /* that wait for their completions */
	int64_t lent;	       /* the slot that the caller reads; -1: none */
};

/*
 * With room for so many connections, fewer than sends. Errors of the objects that it makes. On
 * failure nothing is left.
 */
int rc_carrier_open(struct rc_carrier *carrier, struct carrier_device *device,
		    uint32_t connections_max, uint32_t receive_slots, uint32_t send_slots);

/* Ends all connections. */
void rc_carrier_close(struct rc_carrier *carrier);

/* Answers a request for a connection; `event` is acknowledged. What goes wrong refuses it. */
int rc_carrier_accept(struct rc_carrier *carrier, const struct rnic_cm_event *event);

#endif
