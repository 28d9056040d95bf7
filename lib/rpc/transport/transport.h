/* SPDX-License-Identifier: MIT */
/*
 * Datagrams of sessions travel on a transport, with a route for each peer. Two transports stand
 * behind these calls: datagrams of a UD queue pair (ud_transport.h) and connections of RC queue
 * pairs (rc_transport.h). The owner of a session does not know which of the two it uses.
 *
 * seek() makes a route on the client's side; open_route() makes a route to the sender of a
 * datagram. The route is its owner's until close_route(), also after the route was lost.
 */
#ifndef LIB_RPC_TRANSPORT_TRANSPORT_H
#define LIB_RPC_TRANSPORT_TRANSPORT_H

#include "rpc/wire/rpc_session.h"

#include <rnic/rnic_cm.h>

struct transport;

struct transport_route {
	struct transport *transport;
	void *user; /* the owner's */
};

/* Without bytes: the route is lost. On UD `route` is NULL and the source is given. */
struct transport_datagram {
	struct transport *transport;
	const uint8_t *bytes; /* until the transport is asked for the next one */
	uint32_t length;
	struct transport_route *route;
	struct rnic_path source; /* to answer to */
	uint32_t source_qpn;
};

/* Registered memory that peers write into by RDMA, or that is written from. */
struct transport_ring {
	struct transport *transport;
	uint8_t *memory;
	struct rnic_mr *mr;
	uint32_t in_flight; /* writes that have not completed */
	bool is_closed;	    /* and goes with the last pending write */
	struct transport_ring *next;
	struct transport_ring **link; /* what points to this one */
};

struct transport_calls {
	const struct rpc_session_config *config; /* of sessions on it */
	enum rnic_port_space port_space;	 /* of servers */
	enum rnic_qp_type qp_type;
	enum rnic_cm_event_type found_event; /* what ends seek() well */

	/* Asks the server that `id` has a route to, and takes `id` over, on failure too. */
	int (*seek)(struct transport *transport, struct rnic_cm_id *id,
		    struct transport_route **route);
	/* The route that seek() made can be used: `found_event` came. */
	int (*found)(struct transport_route *route, const struct rnic_cm_event *event);

	int (*open_route)(struct transport *transport, const struct transport_datagram *datagram,
			  struct transport_route **route);
	void (*close_route)(struct transport_route *route);
	bool (*is_source)(const struct transport_route *route,
			  const struct transport_datagram *datagram);

	/* An event of the connection manager about a route that was found; the event is
	 * acknowledged. */
	void (*note)(struct transport_route *route, const struct rnic_cm_event *event);

	/* 1 and a datagram, valid until the next call; 0: none. An error is the daemon's end. */
	int (*receive)(struct transport *transport, struct transport_datagram *datagram);
	/* Asks to be woken by datagrams, and by room if it lacked. Receive again, then wait. */
	int (*arm)(struct transport *transport);

	/* Where the next datagram is to be written, config->datagram_bytes; NULL: not now. */
	uint8_t *(*room)(struct transport_route *route);
	/* Sends the first `bytes` bytes of that room. */
	int (*send)(struct transport_route *route, uint32_t bytes);

	/* RDMA; NULL on a transport without RDMA. A route that is closed writes no more; a ring
	 * can be closed at any time, but peers must have stopped writing to it. */
	int (*open_ring)(struct transport *transport, size_t bytes, bool is_for_peers,
			 struct transport_ring **ring);
	void (*close_ring)(struct transport_ring *ring);
	bool (*can_write)(struct transport_route *route);
	/* Writes from the ring; what is sent after it arrives after it. */
	int (*write)(struct transport_route *route, struct transport_ring *ring, size_t offset,
		     uint32_t bytes, uint64_t remote_address, uint32_t rkey);
};

struct transport {
	const struct transport_calls *calls;
	bool lacks_room; /* found so by room() since it was armed */
};

static inline uint8_t *transport_room(struct transport_route *route)
{
	return route->transport->calls->room(route);
}

static inline int transport_send(struct transport_route *route, uint32_t bytes)
{
	return route->transport->calls->send(route, bytes);
}

static inline void transport_close_route(struct transport_route *route)
{
	route->transport->calls->close_route(route);
}

#endif
