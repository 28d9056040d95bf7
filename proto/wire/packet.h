/* SPDX-License-Identifier: MIT */
/*
 * One RoCEv2 packet between bytes and meaning.
 *
 * Only rnic_packet_decode() makes a struct rnic_packet from bytes. Its promises: the opcode is
 * defined, all headers of the opcode were present, the pad count agrees with the length, there is
 * payload only where the opcode allows payload, at most RNIC_PAYLOAD_BYTES_MAX, and 8 bytes where
 * the opcode says so. The engine judges what needs a QP: payload against the path MTU, P_Key, PSN.
 * The caller checks the ICRC (icrc.h).
 */
#ifndef PROTO_WIRE_PACKET_H
#define PROTO_WIRE_PACKET_H

#include "proto/base/verbs_types.h"
#include "proto/wire/headers.h"
#include "proto/wire/opcode.h"
#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RNIC_UDP_PORT	       4791
#define RNIC_ICRC_BYTES	       4
#define RNIC_PAYLOAD_BYTES_MAX 4096
#define RNIC_PACKET_BYTES_MAX  (RNIC_HEADER_BYTES_MAX + RNIC_PAYLOAD_BYTES_MAX + RNIC_ICRC_BYTES)

/* The destination QPN of packets to a multicast group (IBTA 1.4, 9.6.1.4). */
#define RNIC_MULTICAST_QPN 0xffffff

/* The general services QP, where the connection manager's datagrams travel (IBTA 1.4, 13.5.1). */
#define RNIC_GENERAL_SERVICES_QPN 1

/* The ends of a packet's way, and what else IP and UDP carry. */
struct rnic_addresses {
	struct rnic_gid source;
	struct rnic_gid dest;
	uint16_t source_port;
	uint8_t traffic_class; /* DSCP and ECN */
	uint8_t hop_limit;
};

/* A packet in host order. Members that its opcode does not carry are zero. */
struct rnic_packet {
	struct rnic_addresses addresses;
	const struct rnic_opcode *row; /* the row of `opcode` */
	uint8_t opcode;
	bool solicited;
	bool migrated;
	bool ack_request;
	bool fecn;
	bool becn;
	uint16_t pkey;
	uint32_t dest_qpn;
	struct rnic_psn psn;
	struct rnic_reth reth;
	struct rnic_atomic_header atomic;
	struct rnic_aeth aeth;
	uint64_t atomic_original;
	uint32_t immediate; /* in host order as the wire's big-endian number */
	uint32_t invalidate_rkey;
	uint32_t qkey;
	uint32_t source_qpn;
	uint32_t xrc_srqn;
	uint32_t flush_type; /* FETH: placement type (bits 3:0), selectivity (5:4) */
	const uint8_t *payload;
	uint32_t payload_bytes;
};

/*
 * Reads one packet. `bytes` starts at the BTH and `length` includes pad and ICRC; `out->payload`
 * points into `bytes` and lives as long. `addresses` is copied.
 *
 * Errors: -EBADMSG truncated, pad and length disagree, or a payload that no path MTU allows for
 * this opcode; -EPROTO the header version is not 0; -EOPNOTSUPP the opcode is not defined. On error
 * `out` is untouched; count the packet and drop it.
 */
int rnic_packet_decode(struct rnic_packet *out, const struct rnic_addresses *addresses,
		       const uint8_t *bytes, size_t length);

/*
 * Writes BTH and extended headers of `packet` to `out` (room for RNIC_HEADER_BYTES_MAX) and returns
 * their length. The pad count follows from payload_bytes; the caller appends payload and pad.
 */
size_t rnic_packet_encode_headers(const struct rnic_packet *packet, uint8_t *out);

/* Zero bytes between a payload and the ICRC: 0 .. 3. */
static inline uint32_t rnic_pad_bytes(uint32_t payload_bytes)
{
	return -payload_bytes & 3;
}

/* Bytes from BTH to the end of the pad, without ICRC. */
static inline uint32_t rnic_packet_bytes(const struct rnic_packet *packet)
{
	return packet->row->header_bytes + packet->payload_bytes +
	       rnic_pad_bytes(packet->payload_bytes);
}

#endif
