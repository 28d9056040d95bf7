/* SPDX-License-Identifier: MIT */
#include "daemon/device/device.h"

#include "daemon/device/device_state.h"
#include "lib/nic/path/stack_counters.h"
#include "proto/base/bits.h"

#include <string.h>

/* The counters besides those of engine and ports. Each is a member of struct device. */
static const struct {
	const char *name;
	size_t offset;
} device_counters[] = {
#define DEVICE_COUNTER(name, member) {name, offsetof(struct device, member)},
#include "daemon/shared/reports/counter_names.def"
#undef DEVICE_COUNTER
};

#define OWN_COUNTERS	  RNIC_COUNT_OF(device_counters)
#define COUNTERS_IN_FRONT (COUNTER_COUNT + (uint32_t)OWN_COUNTERS) /* of those of the ports */

bool device_counter(const struct device *device, uint32_t index, const char **name, uint64_t *value)
{
	const uint32_t own = index - COUNTER_COUNT;

	if (index < COUNTER_COUNT) {
		*name = counter_name(index);
		*value = device->engine.counters[index];
		return true;
	}
	if (own >= OWN_COUNTERS)
		return stack_counter_read(&device->ports, index - COUNTERS_IN_FRONT, name, value);
	*name = device_counters[own].name;
	memcpy(value, (const uint8_t *)device + device_counters[own].offset, sizeof(*value));
	return true;
}

uint64_t device_lost_by_faults(const struct device *device)
{
	return stack_lost_by_faults(&device->ports);
}

bool device_has_rules(const struct device *device)
{
	return device->ends.count != 0 || stack_counter_has_rules(&device->ports);
}

void device_rule_read(const struct device *device, uint32_t slot, uint32_t *id, uint64_t *hits)
{
	*id = device->ends.ids[slot];
	*hits = device->ends.rules[slot].hits;
	if (*id == 0)
		stack_rule_read(&device->ports, slot, id, hits);
}

bool device_port_counter(const struct device *device, uint32_t index, const char **name,
			 uint64_t *value)
{
	const uint64_t errors = device->path.receive.icrc.bad + device->path.receive.undecodable;

	return stack_counter_read_port(&device->ports, errors, index, name, value);
}
