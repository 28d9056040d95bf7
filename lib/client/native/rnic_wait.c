/* SPDX-License-Identifier: MIT */
#include "lib/client/native/rnic_wait.h"

#include "lib/wait/clock.h"

#include <errno.h>
#include <pthread.h>

static _Thread_local struct awake caller;

/* Looks until there is something, or until the thread should sleep. */
static int caller_look(enum awake_who who, int (*look)(void *context), void *context)
{
	uint64_t now_ns = clock_now_ns();
	int ready = 0;

	awake_begin(&caller, now_ns);
	while (ready == 0 && awake_next(&caller, &awake_rules[who], now_ns) == AWAKE_YIELD) {
		now_ns = yield_and_note(&caller, now_ns);
		ready = look(context);
	}
	return ready;
}

int rnic_wait_awake_for(int (*look)(void *context), void *context)
{
	return caller_look(AWAKE_CALLER, look, context);
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

static int poll_awake(enum awake_who who, struct pollfd *descriptors, unsigned count)
{
	struct poll_look look = {.descriptors = descriptors, .count = count};
	int cancellation, ready;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	ready = caller_look(who, look_by_poll, &look);
	pthread_setcancelstate(cancellation, NULL);
	return ready;
}

int rnic_wait_awake(struct pollfd *descriptors, unsigned count)
{
	return poll_awake(AWAKE_CALLER, descriptors, count);
}

int rnic_wait_by_poll(struct pollfd *descriptors, unsigned count, int timeout_ms)
{
	const uint64_t began_ns = clock_now_ns();
	int ready = poll(descriptors, count, 0);

	if (ready == 0 && timeout_ms != 0)
		ready = poll_awake(AWAKE_EXPECTANT_CALLER, descriptors, count);
	if (ready == 0 && timeout_ms != 0)
		ready = poll(descriptors, count, timeout_ms);
	awake_note_wait(&caller, began_ns, clock_now_ns());
	return ready < 0 ? -errno : ready;
}
