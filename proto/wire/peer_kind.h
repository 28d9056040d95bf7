/* SPDX-License-Identifier: MIT */
/*
 * What sends a peer's packets, for people: as far as one packet tells. Adapters set M (MigReq) in
 * each packet of a queue pair, and so does rnicd, whose UDP port follows from the queue pair
 * numbers. Linux rxe never sets M, and sends from ports above 49151.
 */
#ifndef PROTO_WIRE_PEER_KIND_H
#define PROTO_WIRE_PEER_KIND_H

#include "proto/base/lane.h"
#include "proto/wire/packet.h"

#include <stdint.h>

enum rnic_peer_kind {
	RNIC_PEER_KIND_UNKNOWN, /* no packet came yet */
	RNIC_PEER_KIND_RNICD,
	RNIC_PEER_KIND_RXE,
	RNIC_PEER_KIND_OTHER, /* an adapter, or other software */
};

#define RNIC_RXE_PORT_FIRST 0xc000

/* `packet` is one of queue pair `peer_qpn` to `own_qpn`, and no notification. */
static inline enum rnic_peer_kind rnic_peer_kind_of(const struct rnic_packet *packet,
						    uint32_t peer_qpn, uint32_t own_qpn)
{
	const uint16_t port = packet->addresses.source_port;

	if (!packet->migrated)
		return port >= RNIC_RXE_PORT_FIRST ? RNIC_PEER_KIND_RXE : RNIC_PEER_KIND_OTHER;
	return port == RNIC_UDP_PORT || port == rnic_lane_send_port(peer_qpn, own_qpn)
		       ? RNIC_PEER_KIND_RNICD
		       : RNIC_PEER_KIND_OTHER;
}

#endif
