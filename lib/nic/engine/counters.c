/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/counters.h"

#include <assert.h>

static const char *const names[COUNTER_COUNT] = {
#define COUNTER(identifier, name, help) [COUNTER_##identifier] = name,
#include "lib/nic/engine/counters.def"
#undef COUNTER
};

const char *counter_name(enum counter counter)
{
	assert(counter < COUNTER_COUNT);
	return names[counter];
}
