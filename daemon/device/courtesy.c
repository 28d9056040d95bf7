/* SPDX-License-Identifier: MIT */
#include "device/courtesy.h"

void courtesy_note(struct courtesy *courtesy, uint64_t began_ns, uint64_t ended_ns)
{
	uint64_t lost_ns = ended_ns - began_ns;

	if (lost_ns >= COURTESY_LONG_NS)
		courtesy->sleep_until_ns = ended_ns + lost_ns * COURTESY_SHARE;
}
