/* SPDX-License-Identifier: MIT */
/*
 * The invariant CRC (IBTA 1.4, 7.8.1; A17.3.3 for the masked fields): the bytes that it covers, and
 * how a receiver that cannot see the IPv4 identification checks it.
 *
 * A UDP socket does not show the identification, but the ICRC covers it. The CRC is linear: the
 * difference between the ICRC found and the one computed for some identification is x^(8n) times
 * the 16 bits in which the identifications differ, n being the bytes from that field to the end.
 * The receiver divides the difference by x^(8n): if only these 16 bits remain, the packet is right.
 *
 * Nor does it show the don't-fragment bit, which A17.3.3 does not mask either. Packets leave here
 * with that bit set; some FPGA designs leave it clear, and their ICRC is right as sent. So one more
 * bit may remain, and 15 bits of strength are left.
 */
#ifndef PROTO_WIRE_ICRC_H
#define PROTO_WIRE_ICRC_H

#include "proto/wire/ip_header.h"
#include "proto/wire/packet.h"

/*
 * The ICRC of a packet whose bytes from the BTH to the end of the pad are `bytes[0 .. length)`,
 * sent from addresses->source_port to port 4791 with the don't-fragment bit set.
 * `ipv4_identification` is ignored for IPv6. `length` is RNIC_BTH_BYTES .. RNIC_PACKET_BYTES_MAX -
 * RNIC_ICRC_BYTES.
 */
uint32_t rnic_icrc_compute(const struct rnic_addresses *addresses, uint16_t ipv4_identification,
			   const uint8_t *bytes, size_t length);

/* Writes `icrc` at `out` as the wire has it: least significant byte first. */
void rnic_icrc_write(uint8_t *out, uint32_t icrc);

enum rnic_icrc_verdict {
	RNIC_ICRC_GOOD,	       /* all 32 bits agree (IPv6, or the expected identification) */
	RNIC_ICRC_GOOD_FOR_ID, /* agrees for one IPv4 identification, which is reported, with the
				  don't-fragment bit set or not */
	RNIC_ICRC_BAD,
};

/*
 * Judges the packet `bytes[0 .. length)` that ends with its ICRC. A `length` that no packet has
 * (below RNIC_BTH_BYTES + RNIC_ICRC_BYTES, above RNIC_PACKET_BYTES_MAX, or no multiple of 4) is
 * BAD. `expected` is the identification that the packet is likely to have; a packet with another
 * one costs about twice as much. Unless BAD, the packet's identification (over IPv6, `expected`) is
 * stored at `ipv4_identification`, which may be NULL.
 */
enum rnic_icrc_verdict rnic_icrc_check_expecting(const struct rnic_addresses *addresses,
						 uint16_t expected, const uint8_t *bytes,
						 size_t length, uint16_t *ipv4_identification);

/* The same for a packet that came alone: its identification most likely is 0. */
static inline enum rnic_icrc_verdict rnic_icrc_check(const struct rnic_addresses *addresses,
						     const uint8_t *bytes, size_t length,
						     uint16_t *ipv4_identification)
{
	return rnic_icrc_check_expecting(addresses, 0, bytes, length, ipv4_identification);
}

/*
 * Whether the ICRC at the end of the first `length` bytes of the payload is right, for those who
 * see the whole datagram: with the identification and the don't-fragment bit that its header shows
 * (A17.3.3 masks neither), all 32 bits count. `length` is at most payload_bytes.
 */
bool rnic_icrc_is_right_as_shown(const struct rnic_datagram *datagram, size_t length);

#endif
