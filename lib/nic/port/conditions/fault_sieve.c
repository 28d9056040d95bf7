/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault_sieve.h"

#include "proto/base/be.h"
#include "proto/base/bits.h"

#define SIEVE_ANY (1 << 7) /* a rule that asks nothing beyond the opcode */

/* The ICRC counts, which a datagram to be sent has not yet. */
static uint32_t least_bytes(const struct fault_rule *rule)
{
	const uint32_t added_bytes = rule->is_receive ? 0 : RNIC_ICRC_BYTES;

	return rule->longer_bytes > added_bytes ? rule->longer_bytes - added_bytes : 0;
}

/*
 * The one thing by which the rule counts: what the fewest packets have comes first. All packets are
 * longer than some lengths.
 */
static uint8_t sieve_thing(const struct fault_rule *rule)
{
	static const uint8_t things[] = {FAULT_WHERE_QPN, FAULT_WHERE_PSN, FAULT_WHERE_PEER,
					 FAULT_WHERE_LONGER};

	for (uint32_t i = 0; i < sizeof(things); i++)
		if ((rule->where & things[i]) != 0 &&
		    (things[i] != FAULT_WHERE_LONGER || least_bytes(rule) >= RNIC_BTH_BYTES))
			return things[i];
	return SIEVE_ANY;
}

/* Allows the places from `first` to `last` of 256, around the end where `last` is less. */
static void sieve_allow(uint8_t table[256], uint8_t thing, uint32_t first, uint32_t last)
{
	for (uint32_t byte = first;; byte++) {
		table[byte & 0xff] |= thing;
		if ((byte & 0xff) == last)
			break;
	}
}

/* Allows all that the rule does not count with. For each bit once, not for each of 64 rules. */
static void sieve_allow_others(struct fault_sieve *sieve, uint8_t thing)
{
	if ((sieve->bits & thing) != 0)
		return;
	sieve->bits |= thing;
	if (thing == FAULT_WHERE_LONGER)
		return;
	if (thing != FAULT_WHERE_PSN)
		sieve_allow(sieve->psns, thing, 0, 255);
	for (uint32_t pair = 0; pair < RNIC_COUNT_OF(sieve->qpns); pair++) {
		if (thing != FAULT_WHERE_QPN)
			sieve->qpns[pair] |= thing;
		if (thing != FAULT_WHERE_PEER)
			sieve->peers[pair] |= thing;
	}
}

/* A range that ends in the byte in which it began, before: all bytes. */
static void sieve_allow_psns(struct fault_sieve *sieve, const struct fault_rule *rule)
{
	const uint32_t first = rule->first_psn >> 16;
	const uint32_t last = rule->last_psn >> 16;
	const bool is_all = first == last && rule->first_psn > rule->last_psn;

	sieve_allow(sieve->psns, FAULT_WHERE_PSN, is_all ? 0 : first, is_all ? 255 : last);
}

static void sieve_allow_lengths(struct fault_sieve *sieve, uint32_t least)
{
	sieve_allow(sieve->lengths, FAULT_WHERE_LONGER, least >> 8, 255);
	if (least - RNIC_BTH_BYTES < sieve->usual_bytes)
		sieve->usual_bytes = least - RNIC_BTH_BYTES;
}

void fault_sieve_init(struct fault_sieve *sieve)
{
	memset(sieve, 0, sizeof(*sieve));
	sieve->usual_bytes = RNIC_PACKET_BYTES_MAX;
}

void fault_sieve_add(struct fault_sieve *sieve, const struct fault_rule *rule)
{
	const uint8_t thing = sieve_thing(rule);
	uint8_t qpn[3];

	sieve_allow_others(sieve, thing);
	for (uint32_t opcode = 0; opcode < 256; opcode++)
		if (fault_rule_has_opcode(rule, (uint8_t)opcode))
			sieve->opcodes[opcode] |= thing;
	switch (thing) {
	case FAULT_WHERE_QPN:
		rnic_be24_write(qpn, rule->qpn);
		sieve->qpns[fault_sieve_pair(qpn + 1)] |= thing;
		break;
	case FAULT_WHERE_PSN:
		sieve_allow_psns(sieve, rule);
		break;
	case FAULT_WHERE_PEER:
		sieve->peers[fault_sieve_pair(&rule->peer.bytes[14])] |= thing;
		break;
	case FAULT_WHERE_LONGER:
		sieve_allow_lengths(sieve, least_bytes(rule));
		break;
	default:
		break;
	}
}

bool fault_sieve_keeps(const struct fault_sieve *sieve, const struct datagram *datagram,
		       const struct rnic_gid *peer)
{
	const uint8_t *bytes = datagram->bytes;

	if (!fault_sieve_may_keep(sieve, datagram, peer))
		return false;
	if (datagram->length < RNIC_BTH_BYTES)
		return datagram->length != 0;
	return (sieve->opcodes[bytes[0]] &
		((sieve->qpns[fault_sieve_pair(bytes + FAULT_QPN_OFFSET + 1)] &
		  sieve->psns[bytes[FAULT_PSN_OFFSET]] &
		  sieve->peers[fault_sieve_pair(&peer->bytes[14])]) |
		 sieve->lengths[datagram->length >> 8 & 0xff])) != 0;
}
