/* SPDX-License-Identifier: MIT */
/*
 * The interface between librnic and librnic-direct.so: the device inside the program. The program
 * is then its own device process (process_message.h, RNIC_HELLO_DIRECT): it holds a lane, and
 * no other process handles its requests or its packets.
 *
 * librnic loads the library and finds the table RNIC_DIRECT_SYMBOL. Several threads may
 * call at the same time. The device has a thread of its own, which works while no thread of the
 * program does: after a call of `turn` or `poll` it leaves the work to the program for 1.7 ms at
 * most.
 */
#ifndef PROTO_CTL_DIRECT_DEVICE_H
#define PROTO_CTL_DIRECT_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The name of the struct rnic_direct_device; the number changes with the layout. */
#define RNIC_DIRECT_SYMBOL	  rnic_direct_device_7
#define RNIC_DIRECT_SYMBOL_STRING "rnic_direct_device_7"
#define RNIC_DIRECT_LIBRARY	  "librnic-direct.so"

struct rnic_direct;
struct pollfd;

/* A child of fork() has no device. The child closes its copies of the descriptors. */
enum rnic_direct_fork {
	RNIC_DIRECT_BEFORE_FORK,
	RNIC_DIRECT_IN_PARENT,
	RNIC_DIRECT_IN_CHILD,
};

enum rnic_direct_post {
	RNIC_DIRECT_POST_WAKES = 1,   /* the device had asked to be woken for it */
	RNIC_DIRECT_POST_AWAITED = 2, /* the caller may sleep next: an event is armed */
};

/* Handlers of signals while a thread waits. */
enum rnic_direct_handlers {
	RNIC_DIRECT_HANDLERS_APART, /* run anywhere, and never call the device */
	RNIC_DIRECT_HANDLERS_POLL,  /* run without a lock of the device; end the wait as poll(2) */
	RNIC_DIRECT_HANDLERS_READ,  /* the same, but end the wait as they end read(2) */
};

struct rnic_direct_device {
	/*
	 * Makes a device that is not open. The process link `link_fd` is the device's from then on;
	 * the control plane knows the program as `client_id`. NULL: no memory, and `link_fd` stays
	 * the caller's.
	 */
	struct rnic_direct *(*create)(int link_fd, uint32_t client_id);

	/*
	 * Opens the device and stores the program's end of a device connection at `connection_fd`.
	 * A fork() waits meanwhile, so that the child finds every descriptor either in the device
	 * or at `connection_fd`. Negative errno: the device is to be closed.
	 */
	int (*open)(struct rnic_direct *device, atomic_int *connection_fd);

	/*
	 * Ends the objects of the program, the device's thread and the lane. Calls of other threads
	 * end, and later calls do nothing.
	 */
	void (*close)(struct rnic_direct *device);

	/* Frees a device that is closed, or was never opened. No other call is under way. */
	void (*destroy)(struct rnic_direct *device);

	/* A turn for work that the caller has just posted; `post` has bits of RNIC_DIRECT_POST_. */
	void (*turn)(struct rnic_direct *device, unsigned post);

	/* A turn for a caller that waits for a completion, unless another thread is in one. */
	void (*poll)(struct rnic_direct *device);

	/*
	 * Takes turns until `fd` is readable, and sleeps between them, so that an arrival costs the
	 * caller one wake-up. While another thread waits here, the caller only sleeps. Returns at
	 * once where `fd` does not block; the device's thread takes the turns from then
	 * on, unless another thread of the program waits here. -EINTR: as read(2).
	 */
	int (*await)(struct rnic_direct *device, int fd);

	/*
	 * The same for several descriptors: waits as poll(2) does until `deadline_ns` of the
	 * monotonic clock (UINT64_MAX: for ever), and returns what poll(2) returns, or a negative
	 * errno. -E2BIG: the descriptors are too many; call poll(2). -ENODEV: the device is closed.
	 *
	 * With RNIC_DIRECT_HANDLERS_READ, 0 also where a handler has run that read(2) goes on
	 * after.
	 */
	int (*wait)(struct rnic_direct *device, struct pollfd *descriptors, unsigned count,
		    uint64_t deadline_ns, enum rnic_direct_handlers handlers);

	/* Answers the requests that wait in the device connection. */
	void (*serve)(struct rnic_direct *device);

	/*
	 * The program exits: sends the packets that wait to leave together with others. Gives up
	 * when the device's lock stays taken, as when a signal handler exits during a call.
	 */
	void (*end_waits)(struct rnic_direct *device);

	/* A thread forks. No other call comes between the phases, and none in the child later. */
	void (*fork)(struct rnic_direct *device, enum rnic_direct_fork phase);
};

#endif
