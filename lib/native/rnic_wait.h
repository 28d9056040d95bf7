/* SPDX-License-Identifier: MIT */
/*
 * Waiting awake for what the daemon is about to do, by turns with it (base/yield_backoff.h): waking
 * a thread costs more than most of its answers. The courtesy is the thread's own, for it is about
 * how that thread's yields fare.
 */
#ifndef RNIC_NATIVE_RNIC_WAIT_H
#define RNIC_NATIVE_RNIC_WAIT_H

#include <poll.h>
#include <stdint.h>

/* The monotonic clock. */
uint64_t rnic_wait_now_ns(void);

/*
 * Looks at the descriptors for some microseconds, as poll(2) does; returns what that returns, 0
 * also when it is better to sleep at once.
 */
int rnic_wait_awake(struct pollfd *descriptors, unsigned count);

#endif
