/* SPDX-License-Identifier: MIT */
/*
 * How often a rule of faults acts on what it applies to, and when: the part that rules for packets,
 * for calls and for completions have in common. Pure.
 */
#ifndef PROTO_BASE_RULE_OFTEN_H
#define PROTO_BASE_RULE_OFTEN_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_RULE_ALWAYS_PPM 1000000

struct rnic_rule_often {
	uint64_t from_ns;	/* since the rule was loaded */
	uint64_t for_ns;	/* 0: for ever */
	uint64_t first;		/* 0: no bound */
	uint64_t every;		/* 1: each */
	uint64_t nth;		/* 0: any */
	uint64_t count;		/* 0: no bound */
	uint64_t pattern;	/* bit set: fail */
	uint32_t pattern_steps; /* 0: no pattern */
	uint32_t chance_ppm;	/* RNIC_RULE_ALWAYS_PPM is always */
};

/* Whether the window of a rule of that age is open. */
static inline bool rnic_rule_has_time(const struct rnic_rule_often *often, uint64_t age_ns)
{
	return age_ns >= often->from_ns &&
	       (often->for_ns == 0 || age_ns - often->from_ns < often->for_ns);
}

/* Counts one more that the rule applies to. Returns whether the rule selects that one. */
static inline bool rnic_rule_selects(const struct rnic_rule_often *often, uint64_t *seen)
{
	const uint64_t step = (*seen)++;

	if (often->first != 0 && *seen > often->first)
		return false;
	if (often->nth != 0 && *seen != often->nth)
		return false;
	if (often->pattern_steps != 0 &&
	    (step >= often->pattern_steps || (often->pattern >> step & 1) == 0))
		return false;
	return *seen % often->every == 0;
}

/* Whether the rule may act once more, after so many hits. */
static inline bool rnic_rule_has_hits_left(const struct rnic_rule_often *often, uint64_t hits)
{
	return often->count == 0 || hits < often->count;
}

#endif
