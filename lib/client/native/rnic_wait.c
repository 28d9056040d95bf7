/* SPDX-License-Identifier: MIT */
#include "lib/client/native/rnic_wait.h"

#include "lib/wait/yield_backoff.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#define AWAKE_NS UINT64_C(50000)  /* most answers come before that; the others need a wake-up */
#define SHORT_NS UINT64_C(500000) /* after such a wait one look may be in vain */

static _Thread_local struct rnic_yield_backoff backoff;
static _Thread_local uint64_t last_wait_ns;

uint64_t rnic_wait_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * RNIC_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

int rnic_wait_awake_for(int (*look)(void *context), void *context)
{
	const uint64_t began_ns = rnic_wait_now_ns();
	uint64_t at_ns = began_ns, yielded_ns;
	int ready = 0;

	while (ready == 0 && at_ns - began_ns < AWAKE_NS &&
	       rnic_yield_backoff_is_returned(&backoff, at_ns)) {
		yielded_ns = at_ns;
		sched_yield();
		at_ns = rnic_wait_now_ns();
		rnic_yield_backoff_note(&backoff, yielded_ns, at_ns);
		ready = look(context);
	}
	return ready;
}

struct poll_look {
	struct pollfd *descriptors;
	unsigned count;
};

static int look_by_poll(void *context)
{
	struct poll_look *look = context;

	return poll(look->descriptors, look->count, 0);
}

int rnic_wait_awake(struct pollfd *descriptors, unsigned count)
{
	struct poll_look look = {.descriptors = descriptors, .count = count};
	int cancellation, ready;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	ready = rnic_wait_awake_for(look_by_poll, &look);
	pthread_setcancelstate(cancellation, NULL);
	return ready;
}

int rnic_wait_by_poll(struct pollfd *descriptors, unsigned count, int timeout_ms)
{
	const bool is_likely_short = last_wait_ns <= SHORT_NS;
	const uint64_t began_ns = rnic_wait_now_ns();
	int ready = poll(descriptors, count, 0);

	if (ready == 0 && timeout_ms != 0 && is_likely_short)
		ready = rnic_wait_awake(descriptors, count);
	if (ready == 0 && timeout_ms != 0)
		ready = poll(descriptors, count, timeout_ms);
	last_wait_ns = rnic_wait_now_ns() - began_ns;
	return ready < 0 ? -errno : ready;
}
