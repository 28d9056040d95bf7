/* SPDX-License-Identifier: MIT */
#include "lib/wait/yield.h"

#include "lib/wait/clock.h"

#include <sched.h>

void yield_and_note(struct rnic_yield_backoff *backoff)
{
	const uint64_t began_ns = clock_now_ns();

	sched_yield();
	rnic_yield_backoff_note(backoff, began_ns, clock_now_ns());
}
