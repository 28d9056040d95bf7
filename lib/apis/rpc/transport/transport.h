/* SPDX-License-Identifier: MIT */
/*
 * Datagrams of conversations travel on a transport, with a route for each peer. Two transports
 * stand behind these calls: datagrams of a UD queue pair (ud_transport.h) and connections of RC
 * queue pairs (rc_transport.h). The owner of a conversation does not know which of the two it uses.
 *
 * seek() makes a route on the client's side; open_route() makes a route to the sender of a
 * datagram. The owner keeps a route until close_route(), also after its loss.
 */
#ifndef LIB_APIS_RPC_TRANSPORT_TRANSPORT_H
#define LIB_APIS_RPC_TRANSPORT_TRANSPORT_H

#include "lib/apis/rpc/wire/rpc_conversation.h"

#include <rnic/rnic_cm.h>

struct transport;

struct transport_route {
	struct transport *transport;
	void *user; /* the owner's */
};

/* Without bytes: `route` is lost. On UD, `route` is NULL and the source is set. */
struct transport_datagram {
	struct transport *transport;
	const uint8_t *bytes; /* until the next call of receive() */
	uint32_t length;
	struct transport_route *route;
	struct rnic_path source; /* to answer to */
	uint32_t source_qpn;
};

/* Registered memory that peers write into by RDMA, or that this side writes from. */
struct transport_ring {
	struct transport *transport;
	uint8_t *memory;
	struct rnic_mr *mr;
	uint32_t in_flight; /* writes that have not completed */
	bool is_closed;	    /* and goes with the last of them */
	struct transport_ring *next;
	struct transport_ring **link; /* the pointer to this one */
};

struct transport_calls {
	const struct rpc_conversation_config *config; /* for its conversations */
	enum rnic_port_space port_space;	      /* for servers */
	enum rnic_qp_type qp_type;
	enum rnic_cm_event_type found_event; /* the event that ends seek() successfully */
	int nobody_listens; /* the status of REJECTED that says so (IBTA 1.4, tables 108 and 130) */

	/* Asks the server to which `id` has a route; takes over `id`, on failure too. */
	int (*seek)(struct transport *transport, struct rnic_cm_id *id,
		    struct transport_route **route);
	/* Makes the sought route usable, after `found_event`. */
	int (*found)(struct transport_route *route, const struct rnic_cm_event *event);

	int (*open_route)(struct transport *transport, const struct transport_datagram *datagram,
			  struct transport_route **route);
	void (*close_route)(struct transport_route *route);
	bool (*is_source)(const struct transport_route *route,
			  const struct transport_datagram *datagram);

	/*
	 * Whether `found_event` names the same peer as the found route. NULL: the transport notices
	 * by itself when its peer is gone.
	 */
	bool (*is_same_peer)(const struct transport_route *route,
			     const struct rnic_cm_event *event);

	/* Takes an event of the connection manager for a found route and acknowledges it. */
	void (*note)(struct transport_route *route, const struct rnic_cm_event *event);

	/*
	 * Returns 1 and a datagram, valid until the next call; 0: none. An error is the daemon's
	 * end.
	 */
	int (*receive)(struct transport *transport, struct transport_datagram *datagram);
	/*
	 * Asks for a wake-up by datagrams, and by room after a lack of it. Receive again, then
	 * wait.
	 */
	int (*arm)(struct transport *transport);

	/*
	 * The largest datagram that the path to the peer may carry and this side takes, for
	 * config->offer_bytes; 0, or NULL: this side makes no offer.
	 */
	uint32_t (*offer)(const struct transport_route *route);
	/* The memory for the next datagram, for the largest of its conversation; NULL: not now. */
	uint8_t *(*room)(struct transport_route *route);
	/*
	 * Sends the first `bytes` bytes of that memory, at the next flush() at the latest. A
	 * datagram that is not urgent may wait at the peer for the next that is.
	 */
	int (*send)(struct transport_route *route, uint32_t bytes, bool is_urgent);
	/* Ends a turn's sends: datagrams go together, which costs less. NULL: each goes at once. */
	void (*flush)(struct transport *transport);

	/*
	 * RDMA, for transports that have it, else NULL. A closed route writes no more. A ring can
	 * be closed at any time, but only after peers have stopped writing to it.
	 */
	int (*open_ring)(struct transport *transport, size_t bytes, bool is_for_peers,
			 struct transport_ring **ring);
	void (*close_ring)(struct transport_ring *ring);
	bool (*can_write)(struct transport_route *route);
	/* Writes from the ring; a later send arrives after the write. */
	int (*write)(struct transport_route *route, struct transport_ring *ring, size_t offset,
		     uint32_t bytes, uint64_t remote_address, uint32_t rkey);
};

struct transport {
	const struct transport_calls *calls;
	bool lacks_room; /* room() returned NULL since the last arm() */
};

static inline uint8_t *transport_room(struct transport_route *route)
{
	return route->transport->calls->room(route);
}

static inline int transport_send(struct transport_route *route, uint32_t bytes, bool is_urgent)
{
	return route->transport->calls->send(route, bytes, is_urgent);
}

static inline void transport_flush(struct transport *transport)
{
	if (transport->calls->flush != NULL)
		transport->calls->flush(transport);
}

/* The configuration of a conversation by this route. */
static inline struct rpc_conversation_config transport_config(const struct transport_route *route)
{
	const struct transport_calls *calls = route->transport->calls;
	struct rpc_conversation_config config = *calls->config;

	config.offer_bytes = calls->offer != NULL ? calls->offer(route) : 0;
	return config;
}

static inline void transport_close_route(struct transport_route *route)
{
	route->transport->calls->close_route(route);
}

#endif
