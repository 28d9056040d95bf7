/* SPDX-License-Identifier: MIT */
/*
 * The rules that are loaded, and which of them hit a packet. A rule keeps its slot, its counts and
 * its random numbers while others come and go. Pure: no memory but the caller's.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_FAULT_PLAN_H
#define LIB_NIC_PORT_CONDITIONS_FAULT_PLAN_H

#include "lib/nic/port/conditions/fault_sieve.h"

#define FAULT_RULES_MAX 64

/* The rules of one direction. */
struct fault_way {
	uint8_t slots[FAULT_RULES_MAX];
	uint32_t count;
	struct fault_sieve sieve; /* of the rules whose windows of time are open */
};

struct fault_plan {
	struct fault_rule rules[FAULT_RULES_MAX];
	uint32_t ids[FAULT_RULES_MAX]; /* by slot; 0: free */
	uint64_t until_ns;	       /* when some window opens or closes; UINT64_MAX: none does */
	struct fault_way receive;
	struct fault_way transmit;
};

/* The effect of all rules together on one packet. */
struct fault_verdict {
	bool drop;
	uint32_t dropped_by; /* the id of the rule */
	bool duplicate;
	bool corrupt;
	bool mark;
	bool rnr;
	uint32_t behind; /* 0: not held back */
	uint64_t delay_ns;
};

/* Puts a rule that has begun into a slot; `id` 0 empties the slot, and `rule` may be NULL. */
void fault_plan_set(struct fault_plan *plan, uint32_t slot, uint32_t id,
		    const struct fault_rule *rule, uint64_t now_ns);

/* Makes the sieves anew, which are right from `now_ns` to `until_ns`. */
void fault_plan_review(struct fault_plan *plan, uint64_t now_ns);

/* Whether some rule applies to the datagram at this time, so that it must be judged. */
bool fault_plan_concerns(const struct fault_plan *plan, const struct fault_way *way,
			 const struct datagram *datagram, uint64_t now_ns);

/* Judges a datagram by all rules of its way in order and counts in them. */
struct fault_verdict fault_plan_judge(struct fault_plan *plan, const struct fault_way *way,
				      const struct datagram *datagram, uint64_t now_ns);

#endif
