/* SPDX-License-Identifier: MIT */
#include "daemon/device/device.h"

#include "daemon/device/device_state.h"
#include "lib/nic/path/stack_counters.h"
#include "proto/base/bits.h"

#include <string.h>

/* The counters besides those of engine and ports. Each is a member of struct device_half. */
static const struct {
	const char *name;
	size_t offset;
} device_counters[] = {
#define DEVICE_COUNTER(name, member) {name, offsetof(struct device_half, member)},
#include "daemon/shared/reports/counter_names.def"
#undef DEVICE_COUNTER
};

#define OWN_COUNTERS	  RNIC_COUNT_OF(device_counters)
#define COUNTERS_IN_FRONT (COUNTER_COUNT + (uint32_t)OWN_COUNTERS) /* of those of the ports */

bool device_half_counter(const struct device_half *half, uint32_t index, const char **name,
			 uint64_t *value)
{
	const uint32_t own = index - COUNTER_COUNT;

	if (index < COUNTER_COUNT) {
		*name = counter_name(index);
		*value = half->engine.counters[index];
		return true;
	}
	if (own >= OWN_COUNTERS)
		return stack_counter_read(&half->ports, index - COUNTERS_IN_FRONT, name, value);
	*name = device_counters[own].name;
	memcpy(value, (const uint8_t *)half + device_counters[own].offset, sizeof(*value));
	return true;
}

/* One counter for each rule of --fault: the packets that the rule acted on. */
bool device_half_fault_counter(const struct device_half *half, uint32_t index,
			       struct rnic_show_counter *counter)
{
	return stack_counter_read_fault(&half->ports, index, counter->name, &counter->value);
}

bool device_half_port_counter(const struct device_half *half, uint32_t index, const char **name,
			      uint64_t *value)
{
	const uint64_t errors = half->path.receive.icrc.bad + half->path.receive.undecodable;

	return stack_counter_read_port(&half->ports, errors, index, name, value);
}
