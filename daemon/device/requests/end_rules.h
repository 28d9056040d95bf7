/* SPDX-License-Identifier: MIT */
/*
 * The rules of faults for programs that end: in which order each is taken down (fault_rule.h). By
 * slot, as the control plane tells them. Pure.
 */
#ifndef DAEMON_DEVICE_REQUESTS_END_RULES_H
#define DAEMON_DEVICE_REQUESTS_END_RULES_H

#include "lib/nic/port/conditions/fault_plan.h"

#include <sys/types.h>

/* Zeroed: none is loaded. */
struct end_rules {
	struct fault_rule rules[FAULT_RULES_MAX];
	uint32_t ids[FAULT_RULES_MAX]; /* 0: the slot is empty */
	uint32_t count;
};

/* Puts a rule that has begun into a slot; `id` 0 empties the slot, and `rule` may be NULL. */
void end_rules_set(struct end_rules *ends, uint32_t slot, uint32_t id,
		   const struct fault_rule *rule);

/*
 * Lets the rules judge the end of a program. Returns for how long its queue pairs are to stay after
 * its memory; 0: they go first. Where several rules act, that with the lowest number decides.
 */
uint64_t end_rules_judge(struct end_rules *ends, const char *program, pid_t pid, uint64_t now_ns);

#endif
