/* SPDX-License-Identifier: MIT */
/*
 * Remembers the IPv4 identification that each sender used last. An ICRC that is right for any
 * identification has 15 bits of strength (icrc.h); a sender that counts its packets gives most of
 * the other bits back, because its next identification is known but for the last ten bits or so.
 *
 * Linux counts for each pair of source and destination address, rdma_rxe included. A pause adds up
 * to one for each tick of its clock, of which there are at most 1,000 a second. Packets that the
 * same host sends to another lane of this device count, too.
 *
 * Invariant: whatever the identifications of a sender are, of n packets in a row it loses at most
 * 14 + n / 65536 to this check. A sender has to show its order before it loses any, and twice as
 * long after each loss.
 */
#ifndef LIB_NIC_PATH_IDENTIFICATION_ORDER_H
#define LIB_NIC_PATH_IDENTIFICATION_ORDER_H

#include "lib/nic/port/udp/segment.h"
#include "proto/wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

/* A sender has its place in one of the sets, 256 senders in all. */
#define IDENTIFICATION_SETS 64
#define IDENTIFICATION_WAYS 4

/* Below are the numbers of a segmented send, which rnicd's own packets have. */
#define IDENTIFICATION_OF_BATCHES SEGMENT_GSO_BATCH_DATAGRAMS_MAX

/* Such a distance from the last one, forwards or backwards, is near. */
#define IDENTIFICATION_NEAR 64

/*
 * A number may be so far ahead at any time. Where a host or the network stalls, packets wait and
 * come together, and the pause between them is not seen: a second of it adds up to 1,000.
 */
#define IDENTIFICATION_AHEAD 1024

/* How many near identifications in a row show order: at first, and at most. */
#define IDENTIFICATION_PROOF_FIRST 8
#define IDENTIFICATION_PROOF_MAX   65536

/*
 * Lanes share a count. Between two packets for one lane, the sender may send one packet to the
 * other lanes in each such time.
 */
#define IDENTIFICATION_NS 1000

/* A pair of IPv4 addresses. */
struct identification_sender {
	uint64_t addresses;
	uint64_t received_ns;  /* of the packet that had `last` */
	uint32_t proof;	       /* near ones in a row */
	uint32_t proof_needed; /* 0: the place is free */
	uint16_t last;
};

/* All zero at first. */
struct identification_order {
	struct identification_sender senders[IDENTIFICATION_SETS][IDENTIFICATION_WAYS];
};

/* Whether the identification is none of a segmented send: then its sender may count its packets. */
static inline bool identification_may_count(uint16_t identification)
{
	return identification >= IDENTIFICATION_OF_BATCHES;
}

/*
 * Takes note of a packet with this identification, which may count, and whose ICRC is right for no
 * other; the addresses are IPv4. False: the packet is doubtful. Its sender counts its packets, and
 * the identification is far from what comes next: the packet most likely is a damaged one. The
 * sender's next packet is not doubtful.
 */
bool identification_order_fits(struct identification_order *order,
			       const struct rnic_addresses *addresses, uint16_t identification,
			       uint64_t received_ns);

/*
 * The identification behind the last one of a sender: the likely one of its next packet. 0: nothing
 * is known of it, or its addresses are not IPv4.
 */
uint16_t identification_order_next(const struct identification_order *order,
				   const struct rnic_addresses *addresses);

#endif
