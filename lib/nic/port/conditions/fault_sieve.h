/* SPDX-License-Identifier: MIT */
/*
 * What a packet must have so that some rule of a direction may apply. Rules that apply to nothing
 * are to cost next to nothing, and 64 of them no more than one. So a rule counts here with one
 * thing that it asks, its bit, and a table for each part of a packet that is read has the bits of
 * the rules which this part allows. Bits that all tables have are left: none, and no rule applies.
 * Pure: no memory but the caller's.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_FAULT_SIEVE_H
#define LIB_NIC_PORT_CONDITIONS_FAULT_SIEVE_H

#include "lib/nic/port/conditions/fault_rule.h"
#include "lib/nic/port/port.h"
#include "proto/wire/headers.h"

#include <string.h>

#define FAULT_QPN_OFFSET 5 /* in the BTH, 24 bits */
#define FAULT_PSN_OFFSET 9

/*
 * The bits are those of enum fault_where, and one more of the rules that ask for nothing but
 * opcodes. That of the rules for lengths is in the tables of opcodes and lengths alone.
 */
struct fault_sieve {
	uint8_t opcodes[256];
	uint8_t psns[256];   /* by the first byte */
	uint8_t qpns[65536]; /* by fault_sieve_pair() of the last two bytes, as the next one */
	uint8_t peers[65536];
	uint8_t lengths[256]; /* by units of 256 bytes */
	uint32_t usual_bytes; /* no rule for lengths concerns so few bytes behind the BTH */
	uint8_t bits;	      /* that some rule has */
};

void fault_sieve_init(struct fault_sieve *sieve); /* without rules */
void fault_sieve_add(struct fault_sieve *sieve, const struct fault_rule *rule);

/* The place of two bytes of a packet in a table, in the machine's own order. */
static inline uint16_t fault_sieve_pair(const uint8_t *bytes)
{
	uint16_t pair;

	memcpy(&pair, bytes, sizeof(pair));
	return pair;
}

/* Whether some rule may apply to the datagram, whose other end is `peer`. */
bool fault_sieve_keeps(const struct fault_sieve *sieve, const struct datagram *datagram,
		       const struct rnic_gid *peer);

/* The same in fewer instructions: also true where the length must be looked at by the other one. */
__attribute__((always_inline)) static inline bool
fault_sieve_may_keep(const struct fault_sieve *sieve, const struct datagram *datagram,
		     const struct rnic_gid *peer)
{
	const uint8_t *bytes = datagram->bytes;

	return datagram->length - RNIC_BTH_BYTES > sieve->usual_bytes ||
	       (sieve->opcodes[bytes[0]] &
		sieve->qpns[fault_sieve_pair(bytes + FAULT_QPN_OFFSET + 1)] &
		sieve->psns[bytes[FAULT_PSN_OFFSET]] &
		sieve->peers[fault_sieve_pair(&peer->bytes[14])]) != 0;
}

#endif
