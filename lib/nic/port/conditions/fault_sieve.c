/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault_sieve.h"

#define SIEVE_ANY (1 << 7) /* a rule that asks nothing beyond the opcode */

/* The one thing by which the rule counts: what the fewest packets have comes first. */
static uint8_t sieve_thing(const struct fault_rule *rule)
{
	static const uint8_t things[] = {FAULT_WHERE_QPN, FAULT_WHERE_PSN, FAULT_WHERE_PEER,
					 FAULT_WHERE_LONGER};

	for (uint32_t i = 0; i < sizeof(things); i++)
		if ((rule->where & things[i]) != 0)
			return things[i];
	return SIEVE_ANY;
}

/* Allows the bytes from `first` to `last`, around the end where `last` is less. */
static void sieve_allow(uint8_t table[256], uint8_t thing, uint32_t first, uint32_t last)
{
	for (uint32_t byte = first;; byte++) {
		table[byte & 0xff] |= thing;
		if ((byte & 0xff) == last)
			break;
	}
}

/* Allows all bytes where the rule does not count with `asked`. */
static void sieve_ask(uint8_t table[256], uint8_t thing, uint8_t asked, uint32_t first,
		      uint32_t last)
{
	if (thing == asked)
		sieve_allow(table, thing, first, last);
	else
		sieve_allow(table, thing, 0, 255);
}

/* A range of sequence numbers that ends in the byte in which it began, before: all bytes. */
static void sieve_ask_psns(struct fault_sieve *sieve, uint8_t thing, const struct fault_rule *rule)
{
	const uint32_t first = rule->first_psn >> 16;
	const uint32_t last = rule->last_psn >> 16;

	if (first == last && rule->first_psn > rule->last_psn)
		sieve_allow(sieve->psn_high, thing, 0, 255);
	else
		sieve_ask(sieve->psn_high, thing, FAULT_WHERE_PSN, first, last);
}

/* The ICRC counts, which a datagram to be sent has not yet. */
static uint32_t least_bytes(const struct fault_rule *rule)
{
	const uint32_t added_bytes = rule->is_receive ? 0 : RNIC_ICRC_BYTES;

	return rule->longer_bytes > added_bytes ? rule->longer_bytes - added_bytes : 0;
}

static void sieve_add_window(struct fault_sieve *sieve, const struct fault_rule *rule)
{
	const uint64_t begin_ns = rule->loaded_ns + rule->often.from_ns;
	const uint64_t end_ns =
		rule->often.for_ns != 0 ? begin_ns + rule->often.for_ns : UINT64_MAX;

	if (sieve->end_ns == 0 || begin_ns < sieve->begin_ns)
		sieve->begin_ns = begin_ns;
	if (end_ns > sieve->end_ns)
		sieve->end_ns = end_ns;
}

void fault_sieve_add(struct fault_sieve *sieve, const struct fault_rule *rule)
{
	const uint8_t thing = sieve_thing(rule);
	const uint8_t qpn[2] = {rule->qpn >> 8 & 0xff, rule->qpn & 0xff};
	const uint8_t *peer = &rule->peer.bytes[14];

	for (uint32_t opcode = 0; opcode < 256; opcode++)
		if (fault_rule_has_opcode(rule, (uint8_t)opcode))
			sieve->opcodes[opcode] |= thing;
	sieve_ask(sieve->qpn_low, thing, FAULT_WHERE_QPN, qpn[1], qpn[1]);
	sieve_ask(sieve->qpn_middle, thing, FAULT_WHERE_QPN, qpn[0], qpn[0]);
	sieve_ask_psns(sieve, thing, rule);
	sieve_ask(sieve->peer_low, thing, FAULT_WHERE_PEER, peer[1], peer[1]);
	sieve_ask(sieve->peer_middle, thing, FAULT_WHERE_PEER, peer[0], peer[0]);
	sieve_ask(sieve->lengths, thing, FAULT_WHERE_LONGER, least_bytes(rule) >> 8, 255);
	sieve_add_window(sieve, rule);
}
