/* SPDX-License-Identifier: MIT */
#include "daemon/shared/reports/counter_names.h"

#include "proto/base/bits.h"

static const char *const counter_names[] = {
#define COUNTER(identifier, name, help) name,
#include "lib/nic/engine/counters.def"
#undef COUNTER
#define DEVICE_COUNTER(name, member) name,
#include "daemon/shared/reports/counter_names.def"
#undef DEVICE_COUNTER
};

const char *device_counter_name(uint32_t index)
{
	return index < RNIC_COUNT_OF(counter_names) ? counter_names[index] : NULL;
}
