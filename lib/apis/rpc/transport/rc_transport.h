/* SPDX-License-Identifier: MIT */
/*
 * Datagrams of conversations over connections of RC queue pairs, one connection per conversation.
 * All share one completion queue, one shared receive queue and one block of registered memory, so
 * that a connection costs only a queue pair. The completion queue has an entry for every request
 * that can be posted.
 *
 * A connection is in the transport's list from its beginning until its queue pair is destroyed,
 * which waits for its completions. In between it is a route (transport.h) of the caller of seek()
 * or, for an accepted connection, of open_route().
 *
 * The ACK timeout of a queue pair begins as the connection manager's, for a path of any length, and
 * falls with the least round trip that a send has taken: a lost packet costs a timeout.
 *
 * A peer that acknowledges nothing keeps its sends in flight until the retries end. So each
 * connection has a send and a write of its own, and takes from the shared ones no more than it
 * leaves for the others.
 */
#ifndef LIB_APIS_RPC_TRANSPORT_RC_TRANSPORT_H
#define LIB_APIS_RPC_TRANSPORT_RC_TRANSPORT_H

#include "lib/apis/rpc/transport/transport.h"
#include "lib/apis/rpc/transport/transport_slots.h"

#define RC_DATAGRAM_BYTES 4096u
/* The most sends and writes of one connection that have not completed. */
#define RC_SENDS_MAX 32u

struct rc_connection;

/* The sends, or writes, that can still be posted. */
struct rc_budget {
	uint32_t left;
	uint32_t left_to_share; /* beyond the one that each connection has for itself */
};

struct rc_transport {
	struct transport base;
	struct transport_device *device;
	struct transport_slots slots;
	struct transport_completions completions;
	struct rnic_srq *srq;
	struct rc_budget sends;		   /* not completed */
	struct rc_budget writes;	   /* as many as sends */
	struct rc_connection *connections; /* a list, the newest first */
	struct transport_ring *rings;	   /* a list */
	uint32_t connection_count;
	uint32_t connections_max;
	uint32_t lost_count;   /* with owners that do not know yet */
	uint32_t ending_count; /* that wait for their completions */
	int64_t lent;	       /* the slot that the caller reads; -1: none */
};

/*
 * Opens the transport with room for so many connections, fewer than sends. Errors of the objects
 * that it makes. On failure nothing is left.
 */
int rc_transport_open(struct rc_transport *transport, struct transport_device *device,
		      uint32_t connections_max, uint32_t receive_slots, uint32_t send_slots);

/* Ends all connections. */
void rc_transport_close(struct rc_transport *transport);

/*
 * Answers a request for a connection and acknowledges `event`. On an error it refuses the request.
 */
int rc_transport_accept(struct rc_transport *transport, const struct rnic_cm_event *event);

#endif
