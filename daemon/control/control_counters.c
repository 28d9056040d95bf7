/* SPDX-License-Identifier: MIT */
#include "control/control_counters.h"

#include "client/client_set.h"
#include "cm/cm.h"
#include "device/device_half.h"

#include <stdio.h>
#include <string.h>

/* Returns false when there are no more: the counter is then number `*fault_index` of --fault. */
static bool control_counters_read(const struct client_set *set, uint32_t index,
				  struct view_counter *counter, uint32_t *fault_index)
{
	const uint32_t device_count = device_half_counter_count(set->device);

	if (device_half_counter(set->device, index, &counter->name, &counter->value))
		return true;
	*fault_index = index - device_count - CM_COUNTER_COUNT;
	if (index - device_count >= CM_COUNTER_COUNT)
		return false;
	counter->name = cm_counter_name((enum cm_counter)(index - device_count));
	counter->value = cm_counter(set->cm, (enum cm_counter)(index - device_count));
	return true;
}

bool control_counters_show(const struct client_set *set, uint32_t index,
			   struct rnic_show_counter *counter)
{
	struct view_counter found;
	uint32_t fault_index;

	memset(counter, 0, sizeof(*counter));
	if (!control_counters_read(set, index, &found, &fault_index))
		return device_half_fault_counter(set->device, fault_index, counter);
	snprintf(counter->name, sizeof(counter->name), "%s", found.name);
	counter->value = found.value;
	return true;
}

bool control_counters_view(const void *context, enum view_counter_folder folder, uint32_t index,
			   struct view_counter *counter)
{
	const struct client_set *set = context;
	uint32_t fault_index;

	if (folder == VIEW_HW_COUNTERS)
		return control_counters_read(set, index, counter, &fault_index);
	return device_half_port_counter(set->device, index, &counter->name, &counter->value);
}
