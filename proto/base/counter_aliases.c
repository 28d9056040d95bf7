/* SPDX-License-Identifier: MIT */
#include "proto/base/counter_aliases.h"

#include <stddef.h>
#include <string.h>

#define ALIAS(name, first, second) {name, first, second},
static const struct rnic_counter_alias aliases[RNIC_COUNTER_ALIASES] = {
#include "proto/base/counter_aliases.def"
};
#undef ALIAS

const struct rnic_counter_alias *rnic_counter_alias(uint32_t index)
{
	return index < RNIC_COUNTER_ALIASES ? &aliases[index] : NULL;
}

bool rnic_counter_alias_has(const struct rnic_counter_alias *alias, const char *counter)
{
	return strcmp(counter, alias->first) == 0 ||
	       (alias->second != NULL && strcmp(counter, alias->second) == 0);
}

void rnic_alias_sums_add(struct rnic_alias_sums *sums, const char *name, uint64_t value)
{
	for (uint32_t i = 0; i < RNIC_COUNTER_ALIASES; i++) {
		if (!rnic_counter_alias_has(&aliases[i], name))
			continue;
		sums->values[i] += value;
		sums->is_there[i] = true;
	}
}
