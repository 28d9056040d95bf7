/* SPDX-License-Identifier: MIT */
#include "lib/wait/clock.h"

#include <sched.h>
#include <time.h>

static uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

uint64_t clock_thread_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t yield_and_note(struct awake *awake, uint64_t began_ns)
{
	uint64_t ended_ns;

	sched_yield();
	ended_ns = clock_now_ns();
	awake_note_yield(awake, began_ns, ended_ns);
	return ended_ns;
}
