/* SPDX-License-Identifier: MIT */
/*
 * What a packet must have so that some rule of a direction may apply. Rules that apply to nothing
 * are to cost next to nothing, and 64 of them no more than one. So a rule counts here with one
 * thing that it asks, its bit, and a table for each byte of a packet that is read has the bits of
 * the rules which this byte allows. Bits that all tables have are left: none, and no rule applies.
 * Pure: no memory but the caller's.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_FAULT_SIEVE_H
#define LIB_NIC_PORT_CONDITIONS_FAULT_SIEVE_H

#include "lib/nic/port/conditions/fault_rule.h"
#include "lib/nic/port/port.h"
#include "proto/wire/headers.h"

#define FAULT_QPN_OFFSET 5 /* in the BTH, 24 bits */
#define FAULT_PSN_OFFSET 9

/*
 * Of no rules while it is zero. The bits are those of enum fault_where, and one more of the rules
 * that ask for nothing but opcodes.
 */
struct fault_sieve {
	uint8_t opcodes[256];
	uint8_t qpn_low[256];	 /* by the last byte of the number */
	uint8_t qpn_middle[256]; /* by the byte before */
	uint8_t psn_high[256];
	uint8_t peer_low[256];
	uint8_t peer_middle[256];
	uint8_t lengths[256]; /* by units of 256 bytes */
	uint64_t begin_ns;    /* of the first window of time, and the end of the last one */
	uint64_t end_ns;
};

void fault_sieve_add(struct fault_sieve *sieve, const struct fault_rule *rule);

/* Whether the window of time of some rule may be open. */
static inline bool fault_sieve_is_open(const struct fault_sieve *sieve, uint64_t now_ns)
{
	return now_ns >= sieve->begin_ns && now_ns < sieve->end_ns;
}

/* Whether some rule may apply to the datagram, whose other end is `peer`. */
__attribute__((always_inline)) static inline bool fault_sieve_keeps(const struct fault_sieve *sieve,
								    const struct datagram *datagram,
								    const struct rnic_gid *peer)
{
	const uint8_t *bytes = datagram->bytes;
	uint8_t left;

	if (datagram->length < RNIC_BTH_BYTES)
		return datagram->length != 0;
	left = sieve->opcodes[bytes[0]];
	if (left == 0)
		return false;
	left &= sieve->qpn_low[bytes[FAULT_QPN_OFFSET + 2]];
	if (left == 0)
		return false;
	left &= sieve->qpn_middle[bytes[FAULT_QPN_OFFSET + 1]];
	left &= sieve->psn_high[bytes[FAULT_PSN_OFFSET]];
	left &= sieve->peer_low[peer->bytes[15]];
	left &= sieve->peer_middle[peer->bytes[14]];
	left &= sieve->lengths[datagram->length >> 8 & 0xff];
	return left != 0;
}

#endif
