/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault_plan.h"

#include "proto/base/be.h"
#include "proto/wire/gid.h"
#include "proto/wire/headers.h"

#include <string.h>

#define PSN_MASK 0xffffffu

/* Whether the rule applies to a packet with such an opcode. */
static bool rule_is_there(const struct fault_rule *rule, const struct datagram *datagram)
{
	const struct rnic_gid *peer =
		rule->is_receive ? &datagram->addresses.source : &datagram->addresses.dest;

	if ((rule->where & FAULT_WHERE_PEER) != 0 && !rnic_gid_equal(&rule->peer, peer))
		return false;
	if ((rule->where & FAULT_WHERE_LONGER) != 0 &&
	    datagram->length + (rule->is_receive ? 0 : RNIC_ICRC_BYTES) <= rule->longer_bytes)
		return false;
	if ((rule->where & (FAULT_WHERE_QPN | FAULT_WHERE_PSN)) == 0)
		return true;
	if (datagram->length < RNIC_BTH_BYTES)
		return false;
	if ((rule->where & FAULT_WHERE_QPN) != 0 && rnic_bth_dest_qpn(datagram->bytes) != rule->qpn)
		return false;
	return (rule->where & FAULT_WHERE_PSN) == 0 ||
	       ((rnic_be24_read(datagram->bytes + FAULT_PSN_OFFSET) - rule->first_psn) &
		PSN_MASK) <= ((rule->last_psn - rule->first_psn) & PSN_MASK);
}

static bool rule_applies(const struct fault_rule *rule, const struct datagram *datagram)
{
	return fault_rule_has_opcode(rule, datagram->bytes[0]) && rule_is_there(rule, datagram);
}

static void way_add(struct fault_way *way, uint32_t slot, const struct fault_rule *rule)
{
	way->slots[way->count++] = (uint8_t)slot;
	fault_sieve_add(&way->sieve, rule);
}

void fault_plan_set(struct fault_plan *plan, uint32_t slot, uint32_t id,
		    const struct fault_rule *rule)
{
	plan->ids[slot] = id;
	if (id != 0)
		plan->rules[slot] = *rule;
	memset(&plan->receive, 0, sizeof(plan->receive));
	memset(&plan->transmit, 0, sizeof(plan->transmit));
	for (uint32_t i = 0; i < FAULT_RULES_MAX; i++)
		if (plan->ids[i] != 0)
			way_add(plan->rules[i].is_receive ? &plan->receive : &plan->transmit, i,
				&plan->rules[i]);
}

bool fault_plan_concerns(const struct fault_plan *plan, const struct fault_way *way,
			 const struct datagram *datagram, uint64_t now_ns)
{
	if (datagram->length == 0)
		return false;
	for (uint32_t i = 0; i < way->count; i++) {
		const struct fault_rule *rule = &plan->rules[way->slots[i]];

		if (rule_applies(rule, datagram) &&
		    rnic_rule_has_time(&rule->often, now_ns - rule->loaded_ns))
			return true;
	}
	return false;
}

struct fault_verdict fault_plan_judge(struct fault_plan *plan, const struct fault_way *way,
				      const struct datagram *datagram, uint64_t now_ns)
{
	struct fault_verdict verdict = {0};

	for (uint32_t i = 0; i < way->count; i++) {
		struct fault_rule *rule = &plan->rules[way->slots[i]];

		if (!rule_applies(rule, datagram) || !fault_rule_acts(rule, now_ns))
			continue;
		switch (rule->action) {
		case FAULT_DROP:
			verdict.drop = true;
			verdict.dropped_by = plan->ids[way->slots[i]];
			break;
		case FAULT_DUPLICATE:
			verdict.duplicate = true;
			break;
		case FAULT_REORDER:
			verdict.behind = rule->behind;
			break;
		case FAULT_CORRUPT:
			verdict.corrupt = true;
			break;
		case FAULT_MARK:
			verdict.mark = true;
			break;
		case FAULT_RNR:
			verdict.rnr = true;
			break;
		case FAULT_DELAY:
			verdict.delay_ns += rule->delay_ns - rule->jitter_ns;
			if (rule->jitter_ns != 0)
				verdict.delay_ns +=
					prng_below(&rule->prng, 2 * rule->jitter_ns + 1);
			break;
		case FAULT_ACTION_COUNT:
			break;
		}
	}
	return verdict;
}
