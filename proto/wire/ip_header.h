/* SPDX-License-Identifier: MIT */
/*
 * The IPv4, IPv6 and UDP headers around a RoCEv2 packet (IBTA A17.3), as images in memory. Sockets
 * send the real headers; the ICRC covers the images, and capture files and the first 40 bytes of a
 * UD receive show them.
 *
 * IPv4 headers have no options, the don't-fragment bit is set; IPv6 headers have flow label 0 and
 * no extension headers. An image is IPv4 if both GIDs are IPv4-mapped, else IPv6.
 */
#ifndef PROTO_WIRE_IP_HEADER_H
#define PROTO_WIRE_IP_HEADER_H

#include "proto/wire/packet.h"

#define RNIC_IPV4_HEADER_BYTES 20
#define RNIC_IPV6_HEADER_BYTES 40
#define RNIC_UDP_HEADER_BYTES  8
#define RNIC_GRH_BYTES	       40

bool rnic_addresses_are_ipv4(const struct rnic_addresses *addresses);

/*
 * Writes the IP header of a datagram whose UDP payload (BTH to ICRC) is `payload_bytes` long, with
 * a right IPv4 header checksum, and returns its length: RNIC_IPV4_HEADER_BYTES or
 * RNIC_IPV6_HEADER_BYTES. `identification` is ignored for IPv6. The datagram fits 16 bits of
 * length.
 */
size_t rnic_ip_header_write(const struct rnic_addresses *addresses, uint16_t identification,
			    size_t payload_bytes, uint8_t *out);

/* The same with 0 for the IPv4 header checksum: cheaper, for a reader who masks that field. */
size_t rnic_ip_header_write_unsummed(const struct rnic_addresses *addresses,
				     uint16_t identification, size_t payload_bytes, uint8_t *out);

/*
 * Writes the UDP header: from addresses->source_port to RNIC_UDP_PORT. `checksum` is 0 (none, which
 * only IPv4 permits in general) or what rnic_udp_checksum() returned.
 */
void rnic_udp_header_write(const struct rnic_addresses *addresses, uint16_t checksum,
			   size_t payload_bytes, uint8_t out[RNIC_UDP_HEADER_BYTES]);

/* The checksum (RFC 768; RFC 8200, 8.1) of the datagram with this UDP payload; never 0. */
uint16_t rnic_udp_checksum(const struct rnic_addresses *addresses, const uint8_t *payload,
			   size_t payload_bytes);

/*
 * Writes what a UD receive shows in front of its payload: the IPv6 header, or 20 zero bytes and the
 * IPv4 header, identification 0 (IBTA A17.4.5.1; the layout is that of Linux).
 */
void rnic_grh_write(const struct rnic_addresses *addresses, size_t payload_bytes,
		    uint8_t out[RNIC_GRH_BYTES]);

/* Reads what rnic_grh_write() wrote. The source port is not in there, and becomes 0. */
void rnic_grh_read(const uint8_t grh[RNIC_GRH_BYTES], struct rnic_addresses *addresses);

/* A UDP datagram found in raw bytes. */
struct rnic_datagram {
	struct rnic_addresses addresses;
	uint16_t dest_port;
	uint16_t udp_checksum;
	uint16_t identification; /* IPv4 only */
	bool dont_fragment;	 /* IPv4 only */
	const uint8_t *payload;	 /* into the bytes given */
	size_t payload_bytes;	 /* as the UDP header says */
};

/*
 * Reads an IP packet of `length` bytes; what follows its end (link padding) is ignored. Checksums
 * are not checked.
 *
 * Errors: -EPROTONOSUPPORT not UDP over IPv4 without options or IPv6 without extension headers, or
 * a fragment but the first; -EBADMSG it is, but truncated or its lengths disagree. On error `out`
 * is untouched.
 */
int rnic_datagram_decode(struct rnic_datagram *out, const uint8_t *bytes, size_t length);

#endif
