/* SPDX-License-Identifier: MIT */
#include "device/traffic.h"

#include "device/device_limits.h"

bool traffic_note(struct traffic *traffic, uint64_t moved_bytes, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - traffic->since_ns;
	uint64_t bytes = moved_bytes - traffic->since_bytes;

	if (elapsed_ns < LIMIT_BULK_NS) {
		traffic->is_bulk |= bytes >= LIMIT_BULK_BYTES;
		return traffic->is_bulk;
	}
	/* After a long sleep a turn may see one burst: spread the burst over the sleep. */
	traffic->is_bulk = bytes / LIMIT_BULK_BYTES >= elapsed_ns / LIMIT_BULK_NS;
	traffic->since_ns = now_ns;
	traffic->since_bytes = moved_bytes;
	return traffic->is_bulk;
}
