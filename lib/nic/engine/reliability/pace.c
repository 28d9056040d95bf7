/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/pace.h"

#include "lib/nic/engine/engine_limits.h"
#include "proto/base/time_units.h"

#include <assert.h>

/* What fills an empty allowance. */
#define BURST_NS (LIMIT_PACE_BURST_BYTES * RNIC_NS_PER_MS / LIMIT_PACE_BYTES_PER_MS)

void pace_init(struct pace *pace)
{
	*pace = (struct pace){.allowance_bytes = LIMIT_PACE_BURST_BYTES};
	list_init(&pace->waiting);
}

static void grow(struct pace *pace, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - pace->counted_ns;
	uint64_t bytes;

	if (elapsed_ns >= BURST_NS) {
		pace->allowance_bytes = LIMIT_PACE_BURST_BYTES;
		pace->counted_ns = now_ns;
		return;
	}
	/* Time that is too short for a byte is counted with the next. */
	bytes = elapsed_ns * LIMIT_PACE_BYTES_PER_MS / RNIC_NS_PER_MS;
	pace->counted_ns +=
		(bytes * RNIC_NS_PER_MS + LIMIT_PACE_BYTES_PER_MS - 1) / LIMIT_PACE_BYTES_PER_MS;
	pace->allowance_bytes += bytes;
	if (pace->allowance_bytes > LIMIT_PACE_BURST_BYTES)
		pace->allowance_bytes = LIMIT_PACE_BURST_BYTES;
}

uint64_t pace_half_burst_at_ns(const struct pace *pace)
{
	uint64_t missing_bytes = LIMIT_PACE_BURST_BYTES / 2 - pace->allowance_bytes;

	return pace->counted_ns + missing_bytes * RNIC_NS_PER_MS / LIMIT_PACE_BYTES_PER_MS + 1;
}

bool pace_try_take(struct pace *pace, uint32_t bytes, uint64_t now_ns, uint64_t *ready_ns)
{
	assert(bytes <= LIMIT_PACE_BURST_BYTES / 2);
	grow(pace, now_ns);
	if (pace->allowance_bytes >= bytes) {
		pace->allowance_bytes -= bytes;
		return true;
	}
	*ready_ns = pace_half_burst_at_ns(pace);
	return false;
}
