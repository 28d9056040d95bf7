/* SPDX-License-Identifier: MIT */
/*
 * The device inside a program: a device that the threads of the program drive by turns, and a
 * thread of its own while they do not.
 *
 * One lock guards all. turns.h says whose turn it is, and awake.h how long a thread that found
 * nothing stays awake. The device's thread sleeps on the descriptors only after it has asked to be
 * woken for what the program posts.
 *
 * A thread of the program that waits for an event (the waiter) sleeps on the descriptors and on its
 * event, and what arrives wakes one thread. Further threads that wait for events are bystanders:
 * they sleep on their events alone.
 *
 * direct_turn.c has the turns and the calls of the program, direct_thread.c the device's thread,
 * direct_wait.c a thread that waits for an event, direct_device.c how the device comes and goes.
 */
#ifndef DAEMON_DEVICE_HOST_PROGRAM_DIRECT_TURN_H
#define DAEMON_DEVICE_HOST_PROGRAM_DIRECT_TURN_H

#include "daemon/device/device.h"
#include "daemon/device/link/device_process.h"
#include "lib/wait/awake.h"
#include "lib/wait/turns.h"
#include "lib/wait/wake_timer.h"
#include "proto/ctl/direct_device.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What epoll tells of the descriptors. Ports have no meaning of their own: each turn receives. The
 * program's requests have no place here: the thread that sends a request serves it.
 */
enum direct_event { EVENT_PORT, EVENT_LINK, EVENT_CLIENTS, EVENT_TIMER, EVENT_STOP };

struct rnic_guard;

struct rnic_direct {
	struct device_process process;
	struct device *device;
	uint32_t client_id;
	pthread_mutex_t lock; /* guards all but `waiting`, the two `awake` and what never changes */
	atomic_uint waiting;  /* threads of the program that want the lock */
	pthread_t thread;
	struct turns turns;
	struct awake awake;	   /* of `thread`, which alone uses it */
	struct awake waiter_awake; /* of the waiter, which alone uses it */
	pthread_t waiter;	   /* while turns_have_waiter() */

	int link_fd;
	int epoll_fd;
	struct wake_timer timer;
	struct wake_timer lease_timer;	/* wakes the thread from the sleep on the lease */
	int stop_fd;			/* an eventfd that ends the thread */
	const struct rnic_guard *guard; /* of the process; NULL: none */
	bool is_open;			/* there is a device, and calls are served */
	bool has_thread;
	bool is_stopping;
	bool is_down; /* the control plane is gone: the client has ended */
};

/*
 * Take and release the lock. The second pair also keeps the calling thread from being cancelled: it
 * would leave the lock, and half of a turn.
 */
void direct_take_lock(struct rnic_direct *direct);
int direct_lock(struct rnic_direct *direct);
void direct_unlock(struct rnic_direct *direct, int cancellation);

/* The calls of struct rnic_direct_device that take turns. */
void direct_device_turn(struct rnic_direct *direct, unsigned post);
void direct_device_poll(struct rnic_direct *direct);
void direct_device_serve(struct rnic_direct *direct);
void direct_device_end_waits(struct rnic_direct *direct);
int direct_device_await(struct rnic_direct *direct, int fd);
int direct_device_wait(struct rnic_direct *direct, struct pollfd *descriptors, unsigned count,
		       uint64_t deadline_ns, enum rnic_direct_handlers handlers);

/* The device's thread. The lock must be free, or the thread waits for it. Negative errno. */
int direct_start_thread(struct rnic_direct *direct);
void direct_stop_thread(struct rnic_direct *direct);

/* ---- under the lock ---- */

/* When the device's thread, or the waiter, is to go on; UINT64_MAX: never. */
uint64_t direct_deadline_ns(struct rnic_direct *direct, uint64_t now_ns);

/* What a thread does whose turn found nothing: the device's thread, or the waiter. */
enum awake_step direct_next_step(struct rnic_direct *direct, const struct awake *awake,
				 enum awake_who who, uint64_t now_ns);

/* Arms the timer that wakes the sleeping thread, as turns.h says. */
void direct_arm(struct rnic_direct *direct, uint64_t now_ns);

/* Runs a turn. The second one returns whether datagrams came. */
void direct_turn(struct rnic_direct *direct, uint64_t now_ns);
bool direct_turn_receives(struct rnic_direct *direct, uint64_t now_ns);

/*
 * Serves the events of the descriptors. Returns whether there was anything but datagrams. Call it
 * after a turn where direct_should_look() says so. A sleep on the descriptors looks as well.
 */
bool direct_look(struct rnic_direct *direct, uint64_t now_ns);
bool direct_should_look(const struct rnic_direct *direct, bool has_received, uint64_t now_ns);

/* Tells the control plane what has changed. */
void direct_tell(struct rnic_direct *direct, uint64_t now_ns);

/*
 * Prepares a sleep on the descriptors: counts the caller in turns.sleepers, arms the timer, and
 * tells the control plane what has changed. False: there is work, and the caller must not sleep.
 * The caller takes itself out of turns.sleepers when the caller wakes, and calls
 * device_withdraw_sleep() in both cases.
 */
bool direct_prepare_sleep(struct rnic_direct *direct, uint64_t now_ns);

/*
 * Lets waiting threads take the lock, which the caller has. The time is bounded: the scheduler may
 * run none of them.
 */
void direct_let_others_in(struct rnic_direct *direct);

#endif
