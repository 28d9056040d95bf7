/* SPDX-License-Identifier: MIT */
/*
 * What a session's datagrams travel on, as sessions see it: a carrier, and for each peer a way to
 * it. Two carriers stand behind these calls, datagrams of a UD queue pair (ud_carrier.h) and
 * connections of RC queue pairs (rc_carrier.h); who holds sessions does not know which.
 *
 * A way is made by seek(), on the client's side, or by open_way(), for one who sent a datagram. It
 * is its owner's until close_way(), also after it was lost.
 */
#ifndef LIB_RPC_TRANSPORT_CARRIER_H
#define LIB_RPC_TRANSPORT_CARRIER_H

#include "rpc/wire/rpc_session.h"

#include <rnic/rnic_cm.h>

struct carrier;

struct carrier_way {
	struct carrier *carrier;
	void *user; /* the owner's */
};

/* Without bytes: `way` is lost. Of UD, `way` is NULL and the source is given. */
struct carrier_datagram {
	struct carrier *carrier;
	const uint8_t *bytes; /* until the carrier is asked for the next one */
	uint32_t length;
	struct carrier_way *way;
	struct rnic_path source; /* to answer to */
	uint32_t source_qpn;
};

/* Registered memory that peers write into by RDMA, or that is written from. */
struct carrier_ring {
	struct carrier *carrier;
	uint8_t *memory;
	struct rnic_mr *mr;
	uint32_t under_way; /* writes that have not completed */
	bool is_closed;	    /* and goes with the last of them */
	struct carrier_ring *next;
	struct carrier_ring **link; /* what points to this one */
};

struct carrier_calls {
	const struct rpc_session_config *config; /* of sessions on it */
	enum rnic_port_space port_space;	 /* of servers */
	enum rnic_qp_type qp_type;
	enum rnic_cm_event_type found_event; /* what ends seek() well */

	/* Asks the server that `id` has a route to, and takes `id` over, on failure too. */
	int (*seek)(struct carrier *carrier, struct rnic_cm_id *id, struct carrier_way **way);
	/* The way that was sought, when `found_event` came: it can be used. */
	int (*found)(struct carrier_way *way, const struct rnic_cm_event *event);

	int (*open_way)(struct carrier *carrier, const struct carrier_datagram *datagram,
			struct carrier_way **way);
	void (*close_way)(struct carrier_way *way);
	bool (*is_source)(const struct carrier_way *way, const struct carrier_datagram *datagram);

	/* What the connection manager says of a way that was found; the event is acknowledged. */
	void (*note)(struct carrier_way *way, const struct rnic_cm_event *event);

	/* 1 and a datagram, valid until the next call; 0: none. An error is the daemon's end. */
	int (*receive)(struct carrier *carrier, struct carrier_datagram *datagram);
	/* Asks to be woken by datagrams, and by room if it lacked. Receive again, then wait. */
	int (*arm)(struct carrier *carrier);

	/* Where the next datagram is to be written, config->datagram_bytes; NULL: not now. */
	uint8_t *(*room)(struct carrier_way *way);
	/* Sends the first `bytes` bytes of that room. */
	int (*send)(struct carrier_way *way, uint32_t bytes);

	/* RDMA, of carriers that have it, else NULL. A way that is closed writes no more; a ring
	 * can be closed at any time, but peers must have stopped writing to it. */
	int (*open_ring)(struct carrier *carrier, size_t bytes, bool is_for_peers,
			 struct carrier_ring **ring);
	void (*close_ring)(struct carrier_ring *ring);
	bool (*can_write)(struct carrier_way *way);
	/* Writes from the ring; what is sent after it arrives after it. */
	int (*write)(struct carrier_way *way, struct carrier_ring *ring, size_t offset,
		     uint32_t bytes, uint64_t remote_address, uint32_t rkey);
};

struct carrier {
	const struct carrier_calls *calls;
	bool lacks_room; /* found so by room() since it was armed */
};

static inline uint8_t *carrier_room(struct carrier_way *way)
{
	return way->carrier->calls->room(way);
}

static inline int carrier_send(struct carrier_way *way, uint32_t bytes)
{
	return way->carrier->calls->send(way, bytes);
}

static inline void carrier_close_way(struct carrier_way *way)
{
	way->carrier->calls->close_way(way);
}

#endif
