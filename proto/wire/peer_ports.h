/* SPDX-License-Identifier: MIT */
/*
 * The UDP source ports that a device takes a peer's packets from (rnicd's option --peer-ports).
 * Any program on the peer's host may send from the peer's address (IP_PKTINFO), by each port that
 * the program can bind at some address. To hold a port at the device's own address keeps nobody
 * from that. An rnicd holds the ports that it sends from at all addresses of both families: no
 * other user of the host can bind them. So the port tells the peer's packets from those that others
 * there forge; and of an implementation in the kernel or in hardware, whose port nobody holds, it
 * tells the packets of one queue pair from those of programs that do not know the port.
 */
#ifndef PROTO_WIRE_PEER_PORTS_H
#define PROTO_WIRE_PEER_PORTS_H

#include "proto/base/lane.h"
#include "proto/wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

enum rnic_peer_ports {
	RNIC_PEER_PORTS_PINNED, /* that of the first good packet: hardware and Linux rxe keep one
				   port */
	RNIC_PEER_PORTS_ANY,
	RNIC_PEER_PORTS_RNICD, /* that of rnicd for the peer's QPN */
	RNIC_PEER_PORTS_COUNT,
};

/* Whether a packet from `port` may be the peer's. `pinned` is the port of the first good packet, 0
 * before. */
static inline bool rnic_peer_ports_admit(enum rnic_peer_ports rule, uint16_t pinned, uint16_t port,
					 uint32_t peer_qpn, uint32_t own_qpn)
{
	switch (rule) {
	case RNIC_PEER_PORTS_ANY:
		return true;
	case RNIC_PEER_PORTS_RNICD:
		return port == rnic_lane_send_port(peer_qpn, own_qpn);
	default:
		return pinned == 0 || port == pinned;
	}
}

#endif
