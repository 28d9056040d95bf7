/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/fault_plan.h"

#include "proto/base/be.h"
#include "proto/wire/gid.h"
#include "proto/wire/headers.h"

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

/* When the window of a rule opens or closes next, or UINT64_MAX. */
static uint64_t rule_changes_ns(const struct fault_rule *rule, uint64_t now_ns)
{
	const uint64_t opens_ns = rule->loaded_ns + rule->often.from_ns;

	if (now_ns < opens_ns)
		return opens_ns;
	return rule->often.for_ns != 0 && now_ns < opens_ns + rule->often.for_ns
		       ? opens_ns + rule->often.for_ns
		       : UINT64_MAX;
}

static void plan_add(struct fault_plan *plan, uint32_t slot, uint64_t now_ns)
{
	const struct fault_rule *rule = &plan->rules[slot];
	struct fault_way *way = rule->is_receive ? &plan->receive : &plan->transmit;
	const uint64_t changes_ns = rule_changes_ns(rule, now_ns);

	way->slots[way->count++] = (uint8_t)slot;
	if (rnic_rule_has_time(&rule->often, now_ns - rule->loaded_ns))
		fault_sieve_add(&way->sieve, rule);
	if (changes_ns < plan->until_ns)
		plan->until_ns = changes_ns;
}

void fault_plan_review(struct fault_plan *plan, uint64_t now_ns)
{
	plan->receive.count = plan->transmit.count = 0;
	fault_sieve_init(&plan->receive.sieve);
	fault_sieve_init(&plan->transmit.sieve);
	plan->until_ns = UINT64_MAX;
	for (uint32_t i = 0; i < FAULT_RULES_MAX; i++)
		if (plan->ids[i] != 0)
			plan_add(plan, i, now_ns);
}

void fault_plan_set(struct fault_plan *plan, uint32_t slot, uint32_t id,
		    const struct fault_rule *rule, uint64_t now_ns)
{
	plan->ids[slot] = id;
	if (id != 0)
		plan->rules[slot] = *rule;
	fault_plan_review(plan, now_ns);
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
