/* SPDX-License-Identifier: MIT */
/*
 * Second names of counters (counter_aliases.def), which the path view and `rdma statistic` show
 * behind the device's own. rnicctl has the device's own alone, so that no sum over all counters
 * counts one twice.
 */
#ifndef PROTO_BASE_COUNTER_ALIASES_H
#define PROTO_BASE_COUNTER_ALIASES_H

#include <stdbool.h>
#include <stdint.h>

#define ALIAS(name, first, second) +1
enum {
	RNIC_COUNTER_ALIASES =
#include "proto/base/counter_aliases.def"
};
#undef ALIAS

struct rnic_counter_alias {
	const char *name;
	const char *first;
	const char *second; /* added to the first; NULL: none */
};

/* The alias numbered `index`; NULL: there are no more. */
const struct rnic_counter_alias *rnic_counter_alias(uint32_t index);

/* Whether the counter is part of the alias. */
bool rnic_counter_alias_has(const struct rnic_counter_alias *alias, const char *counter);

/* The sums of all aliases, which a reader of counters adds to; all zero at first. */
struct rnic_alias_sums {
	uint64_t values[RNIC_COUNTER_ALIASES];
	bool is_there[RNIC_COUNTER_ALIASES];
};

/* Adds a counter to the aliases that it is part of. */
void rnic_alias_sums_add(struct rnic_alias_sums *sums, const char *name, uint64_t value);

#endif
