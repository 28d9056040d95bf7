/* SPDX-License-Identifier: MIT */
/*
 * Forms GSO batches of outbound datagrams, each one UDP_SEGMENT send, and writes their ICRC.
 *
 * The kernel numbers the IPv4 packets that it cuts from one such send 0, 1, 2, ... and gives a
 * datagram sent alone, from an unconnected socket that never fragments, the number 0. The ICRC
 * covers the number, so the sender first decides on the GSO batch and then seals it. Over IPv6
 * there is no number.
 *
 * A sealed datagram that was not sent must be unsealed before the next offer. The sink gets only
 * sent datagrams; so a capture sees packets as the network does.
 */
#ifndef LIB_NIC_PORT_UDP_SEGMENT_H
#define LIB_NIC_PORT_UDP_SEGMENT_H

#include "lib/nic/port/port.h"

/*
 * The most datagrams of one UDP_SEGMENT send. The kernel permits 64 segments, and 65,535 bytes less
 * its headers.
 */
#define SEGMENT_GSO_BATCH_DATAGRAMS_MAX 64
#define SEGMENT_GSO_BATCH_BYTES_MAX	65000

/* The hop limit of a datagram that leaves its own at 0. */
#define SEGMENT_HOP_LIMIT_DEFAULT 64

/* The destination QPN of an outbound datagram; 0 when it is too short for one. */
uint32_t segment_dest_qpn(const struct datagram *datagram);

/* Gets every sent datagram. Its ICRC lies behind its `length`, its damage is done. */
struct segment_sink {
	void (*sent)(void *context, const struct datagram *datagram, uint16_t ipv4_identification,
		     uint64_t now_ns);
	void *context;
};

/*
 * The number of the first of `count` datagrams, at least one, that can be one GSO batch: same
 * source, destination, destination lane, traffic class and hop limit, equal lengths but for a
 * shorter last one. `count` is at least 1.
 */
uint32_t segment_gso_batch_length(const struct datagram *datagrams, uint32_t count);

/*
 * Seals the GSO batch for the wire: source port, hop limit, ICRC behind each datagram's bytes, and
 * then the damage. The identification of datagrams[i] is i.
 */
void segment_seal(struct datagram *datagrams, uint32_t count, uint16_t source_port);

/* Takes the damage back, so that the datagrams can be sealed again. */
void segment_unseal(struct datagram *datagrams, uint32_t count);

/* Reports a sent GSO batch to `sink`, which may be NULL. */
void segment_report(const struct segment_sink *sink, const struct datagram *datagrams,
		    uint32_t count, uint64_t now_ns);

#endif
