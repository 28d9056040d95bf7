/* SPDX-License-Identifier: MIT */
/*
 * A transport that keeps the packets that conversations send. Peers are numbers, which datagrams
 * have as source_qpn.
 */
#ifndef TESTS_UNIT_LIB_APIS_RPC_FAKE_TRANSPORT_H
#define TESTS_UNIT_LIB_APIS_RPC_FAKE_TRANSPORT_H

#include "lib/apis/rpc/transport/transport.h"

#define FAKE_SENT_MAX 8192

struct fake_sent {
	uint32_t peer;
	struct rpc_packet packet; /* its payload is not kept */
};

struct fake_transport {
	struct transport base;
	uint32_t room;	    /* datagrams that may still be sent */
	uint32_t routes;    /* that are open */
	uint32_t openings;  /* of routes */
	uint32_t rings;	    /* that are open */
	uint8_t *last_ring; /* memory of the ring that was opened last */
	uint8_t bytes[RPC_DATAGRAM_MAX_BYTES];
	struct fake_sent sent[FAKE_SENT_MAX];
	uint32_t sent_count;
};

void fake_transport_init(struct fake_transport *transport);

/* The same, with rings for bulk transfers. No route can write. */
void fake_transport_init_with_rings(struct fake_transport *transport);

/* The packet as a datagram of that peer, valid until the next call. */
struct transport_datagram fake_datagram(struct fake_transport *transport, uint32_t peer,
					const struct rpc_packet *packet);

/* The loss of a peer's route. */
struct transport_datagram fake_loss(struct fake_transport *transport,
				    struct transport_route *route);

#endif
