/* SPDX-License-Identifier: MIT */
/*
 * What the carriers of one client or server share: the session with the daemon, and a descriptor to
 * sleep on, which completions, events of the connection manager and a timer make readable.
 */
#ifndef LIB_RPC_CARRIER_DEVICE_H
#define LIB_RPC_CARRIER_DEVICE_H

#include <rnic/rnic_cm.h>

struct carrier_device {
	struct rnic_context *context;
	struct rnic_pd *pd;
	struct rnic_channel *channel;
	struct rnic_cm_channel *cm;
	int epoll_fd;
	int timer_fd;
	uint64_t timer_ns; /* what it is set to */
};

/* Errors of rnic_open() and of the objects. On failure nothing is left. */
int carrier_device_open(struct carrier_device *device, const char *socket_path);

/* After the carriers. */
void carrier_device_close(struct carrier_device *device);

/* Waits until there is something to do, `timeout_ms` at most, and clears what woke it. */
int carrier_device_wait(struct carrier_device *device, int timeout_ms);

/* Makes the descriptor readable at `deadline_ns`; RPC_NEVER: not by time. */
void carrier_device_set_timer(struct carrier_device *device, uint64_t deadline_ns);

/* Fills `count` bytes, at most 256, with what nobody can guess. */
void carrier_random(void *bytes, size_t count);

#endif
