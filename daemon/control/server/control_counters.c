/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/control_counters.h"

#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm/cm.h"
#include "daemon/control/supervisor/device_set.h"
#include "proto/base/counter_aliases.h"

#include <stdio.h>
#include <string.h>

/* Reads the total numbered `index` of a kind, over all device processes and lane 0. */
static bool control_counters_read(const struct client_set *set, uint32_t kind, uint32_t index,
				  struct view_counter *counter)
{
	const struct stats_total *total =
		stats_totals_at(&set->devices->common.totals, kind, index);

	if (total == NULL)
		return false;
	counter->name = total->name;
	counter->value = total->value;
	return true;
}

/* Reads the counter numbered `index` of devices and CM; else stores what is left of the index. */
static bool control_counters_read_hw(const struct client_set *set, uint32_t index,
				     struct view_counter *counter, uint32_t *left)
{
	const uint32_t device_count =
		stats_totals_count(&set->devices->common.totals, RNIC_STATS_DEVICE);

	if (control_counters_read(set, RNIC_STATS_DEVICE, index, counter))
		return true;
	*left = index - device_count - CM_COUNTER_COUNT;
	if (index - device_count >= CM_COUNTER_COUNT)
		return false;
	counter->name = cm_counter_name((enum cm_counter)(index - device_count));
	counter->value = cm_counter(set->cm, (enum cm_counter)(index - device_count));
	return true;
}

/* All aliases are there: the device's counters have names from the start on. */
static bool control_counters_read_alias(const struct client_set *set, uint32_t index,
					struct view_counter *counter)
{
	const struct rnic_counter_alias *alias = rnic_counter_alias(index);
	struct view_counter own;

	if (alias == NULL)
		return false;
	counter->name = alias->name;
	counter->value = 0;
	for (uint32_t i = 0; control_counters_read(set, RNIC_STATS_DEVICE, i, &own); i++)
		if (rnic_counter_alias_has(alias, own.name))
			counter->value += own.value;
	return true;
}

/* Reads the counter numbered `index` of the rules that concern all. */
static bool control_counters_read_rule(const struct client_set *set, uint32_t index,
				       struct rnic_show_counter *counter)
{
	const struct rule_table *table = &set->devices->common.rules;

	for (uint32_t i = 0; i < RNIC_RULES_MAX; i++) {
		const struct rule_entry *entry = &table->entries[i];

		if (entry->id == 0 || !entry->owner.is_of_all || index-- != 0)
			continue;
		snprintf(counter->name, sizeof(counter->name), "fault %.40s", entry->text);
		counter->value = entry->hits;
		return true;
	}
	return false;
}

/* Reads the counters of faults, which there are only where there ever was a rule. */
static bool control_counters_read_faults(const struct client_set *set, uint32_t index,
					 struct rnic_show_counter *counter)
{
	struct view_counter found;

	if (set->devices->common.rules.last_id == 0)
		return false;
	if (!control_counters_read(set, RNIC_STATS_FAULT, index, &found))
		return control_counters_read_rule(
			set,
			index - stats_totals_count(&set->devices->common.totals, RNIC_STATS_FAULT),
			counter);
	snprintf(counter->name, sizeof(counter->name), "%s", found.name);
	counter->value = found.value;
	return true;
}

bool control_counters_show(const struct client_set *set, uint32_t index,
			   struct rnic_show_counter *counter)
{
	struct view_counter found;
	uint32_t fault_index;

	if (index == 0)
		device_set_totals(set->devices);
	memset(counter, 0, sizeof(*counter));
	if (!control_counters_read_hw(set, index, &found, &fault_index))
		return control_counters_read_faults(set, fault_index, counter);
	snprintf(counter->name, sizeof(counter->name), "%s", found.name);
	counter->value = found.value;
	return true;
}

bool control_counters_view(const void *context, enum view_counter_folder folder, uint32_t index,
			   struct view_counter *counter)
{
	const struct client_set *set = context;
	uint32_t left;

	if (index == 0)
		device_set_totals(set->devices);
	if (folder != VIEW_HW_COUNTERS)
		return control_counters_read(set, RNIC_STATS_PORT, index, counter);
	return control_counters_read_hw(set, index, counter, &left) ||
	       control_counters_read_alias(set, left, counter);
}
