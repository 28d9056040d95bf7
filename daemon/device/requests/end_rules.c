/* SPDX-License-Identifier: MIT */
#include "daemon/device/requests/end_rules.h"

#include <string.h>

void end_rules_set(struct end_rules *ends, uint32_t slot, uint32_t id,
		   const struct fault_rule *rule)
{
	ends->count -= ends->ids[slot] != 0;
	ends->count += id != 0;
	ends->ids[slot] = id;
	if (id != 0)
		ends->rules[slot] = *rule;
}

static bool end_rule_concerns(const struct fault_rule *rule, const char *program, pid_t pid)
{
	return (rule->pid == 0 || rule->pid == (uint32_t)pid) &&
	       (rule->program[0] == '\0' ||
		strncmp(rule->program, program, sizeof(rule->program)) == 0);
}

uint64_t end_rules_judge(struct end_rules *ends, const char *program, pid_t pid, uint64_t now_ns)
{
	uint64_t hold_ns = 0;
	uint32_t decider = 0;

	for (uint32_t i = 0; ends->count != 0 && i < FAULT_RULES_MAX; i++) {
		struct fault_rule *rule = &ends->rules[i];

		if (ends->ids[i] == 0 || !end_rule_concerns(rule, program, pid) ||
		    !fault_rule_acts(rule, now_ns) || (decider != 0 && decider < ends->ids[i]))
			continue;
		decider = ends->ids[i];
		hold_ns = rule->end == FAULT_END_MEMORY_FIRST ? rule->hold_ns : 0;
	}
	return hold_ns;
}
