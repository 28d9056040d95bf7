/* SPDX-License-Identifier: MIT */
/*
 * The objects that the transports of one client or server share: the connection to the daemon, and
 * a descriptor to sleep on, which completions, events of the connection manager and a timer make
 * readable.
 */
#ifndef LIB_APIS_RPC_TRANSPORT_TRANSPORT_DEVICE_H
#define LIB_APIS_RPC_TRANSPORT_TRANSPORT_DEVICE_H

#include <rnic/rnic_cm.h>

struct transport_device {
	struct rnic_context *context;
	struct rnic_pd *pd;
	struct rnic_channel *channel;
	struct rnic_cm_channel *cm;
	int epoll_fd;
	int timer_fd;
	int wake_fd;
	uint64_t timer_ns;  /* the time that the timer is set to */
	bool has_cm_events; /* maybe: a wait found some, and nobody has taken them all since */
	bool is_at_work;
	bool is_woken;
};

/* A device that is not open, and may be closed. */
extern const struct transport_device transport_device_none;

/* Errors of rnic_open() and of the objects. On failure nothing is left. */
int transport_device_open(struct transport_device *device, const char *socket_path);

/* Closes the device, after its transports. */
void transport_device_close(struct transport_device *device);

/* Waits until there is work, `timeout_ms` at most, and clears the cause of the wake-up. */
int transport_device_wait(struct transport_device *device, int timeout_ms);

/*
 * Makes the descriptor readable at `deadline_ns` (0: at once; RPC_NEVER: not by time), or before.
 * An early wake-up costs a turn without work; setting the timer for each datagram that moves a
 * deadline would cost a system call each.
 */
void transport_device_set_timer(struct transport_device *device, uint64_t deadline_ns);

/*
 * Makes the descriptor readable at once, for work of the owner; does nothing while the owner is at
 * work.
 */
void transport_device_wake(struct transport_device *device);

/* The owner calls these two around its work. */
void transport_device_begin_work(struct transport_device *device);
void transport_device_end_work(struct transport_device *device);

/* Fills `count` bytes, at most 256, with random bytes that nobody can guess. */
void transport_random(void *bytes, size_t count);

#endif
