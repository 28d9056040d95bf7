/* SPDX-License-Identifier: MIT */
#include "lib/wait/yield.h"

#include "lib/wait/clock.h"

#include <sched.h>

uint64_t yield_and_note(struct awake *awake, uint64_t began_ns)
{
	uint64_t ended_ns;

	sched_yield();
	ended_ns = clock_now_ns();
	awake_note_yield(awake, began_ns, ended_ns);
	return ended_ns;
}
