/* SPDX-License-Identifier: MIT */
/*
 * Lanes: the parts of a device's QPNs. A lane is 65,536 QPNs with one top byte, and the host's
 * device processes have one lane each. The control plane has all QPNs below the first lane, among
 * them QP 1: lane 0. A QPN behind the last lane belongs to nobody; the greatest is the QPN of
 * multicast packets.
 *
 * So the destination QPN of a packet tells which process gets the packet, on any host. A lane of 0
 * stands for no lanes: one process has all QPNs.
 */
#ifndef PROTO_BASE_LANE_H
#define PROTO_BASE_LANE_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_LANE_NONE	       0    /* the whole device is one process's */
#define RNIC_LANE_ZERO	       0x7f /* lane 0, as a number among those of the other lanes */
#define RNIC_LANE_FIRST	       0x80 /* the first lane of a device process */
#define RNIC_LANE_LAST	       0xfe
#define RNIC_LANE_BITS	       16 /* of a QPN, below the lane */
#define RNIC_LANE_QPNS	       (1u << RNIC_LANE_BITS)
#define RNIC_LANE_SEND_SOCKETS 8 /* of a lane at each GID; the destination lane chooses one */

/*
 * The UDP port of the first lane's first send socket. The ports of the other sockets
 * and lanes follow, and then the port of lane 0. RoCEv2 uses this range for source ports, and the
 * kernel chooses no ports from it.
 */
#define RNIC_LANE_SEND_PORT_FIRST 61000

/* RNIC_LANE_ZERO, a lane, or for a QPN behind the last lane a greater number. */
static inline uint8_t rnic_lane_of(uint32_t qpn)
{
	const uint32_t top = qpn >> RNIC_LANE_BITS & 0xff;

	return (uint8_t)(top < RNIC_LANE_FIRST ? RNIC_LANE_ZERO : top);
}

/* Whether packets to `qpn` belong to the process of `lane`. */
static inline bool rnic_lane_has(uint8_t lane, uint32_t qpn)
{
	return lane == RNIC_LANE_NONE || lane == rnic_lane_of(qpn);
}

/* The send socket for packets to `qpn`: 0 .. RNIC_LANE_SEND_SOCKETS - 1. */
static inline uint32_t rnic_lane_send_socket(uint32_t qpn)
{
	const uint8_t lane = rnic_lane_of(qpn);

	return lane == RNIC_LANE_ZERO ? 0 : lane % RNIC_LANE_SEND_SOCKETS;
}

/*
 * The UDP source port of packets from `source_qpn` to `dest_qpn`, unless another program of the
 * sender's host has the port. A daemon keeps other users from it (port_guards.h).
 */
static inline uint16_t rnic_lane_send_port(uint32_t source_qpn, uint32_t dest_qpn)
{
	const uint8_t lane = rnic_lane_of(source_qpn);
	const uint32_t row =
		(lane == RNIC_LANE_ZERO ? RNIC_LANE_LAST + 1u : lane) - RNIC_LANE_FIRST;

	return (uint16_t)(RNIC_LANE_SEND_PORT_FIRST + RNIC_LANE_SEND_SOCKETS * row +
			  rnic_lane_send_socket(dest_qpn));
}

#endif
