/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the daemon's next action as awake.h says, by turns with the daemon: waking a thread
 * costs more than most of the daemon's answers. Each thread keeps its own state, because it depends
 * on how that thread's yields fare.
 */
#ifndef LIB_CLIENT_NATIVE_RNIC_WAIT_H
#define LIB_CLIENT_NATIVE_RNIC_WAIT_H

#include "proto/ctl/direct_device.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct rnic_context;

/*
 * Looks at the descriptors for some microseconds, as poll(2) does. Returns what poll(2) returns, 0
 * also when it is better to sleep at once. This is no cancellation point: the sleep that follows is
 * one.
 */
int rnic_wait_awake(struct pollfd *descriptors, unsigned count);

/*
 * The same with a function of the caller's, which returns 0 as long as there is nothing. Returns
 * what the last look returned, 0 also when it is better to sleep at once.
 */
int rnic_wait_awake_for(int (*look)(void *context), void *context);

/*
 * Waits as poll(2) does, inside the device where the device is inside the program: the thread takes
 * the device's turns meanwhile. `deadline_ns` is of the monotonic clock, UINT64_MAX for none.
 * Returns what poll(2) returns, or a negative errno. -ENODEV: the device is elsewhere, or lost;
 * -E2BIG: the descriptors are too many. Call poll(2) then.
 *
 * Handlers that may call the device run only where the thread has no lock of the device. With
 * RNIC_DIRECT_HANDLERS_READ, 0 also where a restarting handler has run.
 */
int rnic_wait_in_device(struct rnic_context *context, struct pollfd *descriptors, unsigned count,
			uint64_t deadline_ns, enum rnic_direct_handlers handlers);

/* rnic_wait() where daemons serve the devices: awake first, then asleep. */
int rnic_wait_by_poll(struct pollfd *descriptors, unsigned count, int timeout_ms);

#endif
