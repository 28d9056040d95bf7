/* SPDX-License-Identifier: MIT */
/*
 * The device inside a program: a device that the threads of the program drive by turns, and a
 * thread of its own while they do not.
 *
 * One lock guards all. A thread of the program that posts or polls renews the lease with each turn.
 * The device's thread sleeps while the lease holds, so that the two do not compete for what
 * arrives. Where a program has long gone on polling, the thread sleeps DIRECT_LONG_SLEEP_NS longer,
 * and the program moves the end of the sleep ahead. Where a program waits for bytes in its memory
 * instead, it takes no turns, and arrivals wait for the end of the thread's sleep: after a few of
 * them the thread keeps watch, until a program that polls meets most arrivals again. The thread
 * sleeps on the descriptors only after it has asked to be woken for what the program posts.
 *
 * A thread of the program that waits for an event keeps watch itself: it sleeps on the descriptors
 * and on its event, and what arrives wakes one thread. Where waits are short, the thread polls for
 * a moment first. The device's thread sleeps as long. Further threads that wait for events are
 * bystanders: they sleep on their events alone. Beside them there is no lease, for nobody else
 * would take the turns that they wait for. A program that asks for an event without blocking is
 * about to sleep elsewhere. The device's thread then keeps watch at once, unless the program also
 * waits here.
 *
 * A program that posts one work request after another gets one turn for many: the kernel takes a
 * batch of packets at the cost of one. The device's thread sees to it that the last of them do not
 * wait longer than DIRECT_POST_NS, whatever the program does then; or than the thread's sleep,
 * where the program has always come back in time, or has had the lock nearly all the time. Where
 * the program has armed an event, it is likely to sleep, and the first posts get a turn each.
 *
 * direct_turn.c has the turns and the calls of the program, direct_thread.c the device's thread,
 * direct_wait.c a thread that waits for an event, direct_device.c how the device comes and goes.
 */
#ifndef DAEMON_DEVICE_HOST_PROGRAM_DIRECT_TURN_H
#define DAEMON_DEVICE_HOST_PROGRAM_DIRECT_TURN_H

#include "daemon/device/device.h"
#include "daemon/device/link/device_process.h"
#include "lib/wait/wake_timer.h"
#include "lib/wait/yield_backoff.h"
#include "proto/base/time_units.h"
#include "proto/ctl/direct_device.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DIRECT_LEASE_NS	    (200 * RNIC_NS_PER_US)
#define DIRECT_POST_NS	    (20 * RNIC_NS_PER_US) /* that a post waits for others at most */
#define DIRECT_PUNCTUAL	    16 /* turns in time, before a post may wait until the thread wakes */
#define DIRECT_PUNCTUAL_MAX 64 /* turns in time that count */
#define DIRECT_RENEWALS	    32 /* sleeps on the lease, before a long one */
#define DIRECT_NEAR_NS	    (20 * RNIC_NS_PER_US)  /* a nearer deadline is not worth a sleep */
#define DIRECT_SPIN_NS	    (50 * RNIC_NS_PER_US)  /* of polling before the thread sleeps */
#define DIRECT_WAIT_SPIN_NS (200 * RNIC_NS_PER_US) /* of polling before a waiter sleeps */
#define DIRECT_LOOK_NS	    (500 * RNIC_NS_PER_US) /* between polls of the descriptors */

/*
 * How long the thread sleeps after the end of the lease, at most. Lease and sleep together are less
 * than half of the delay of answers that peers are told of (LIMIT_LOCAL_ACK_DELAY).
 */
#define DIRECT_LONG_SLEEP_NS (3 * RNIC_NS_PER_MS / 2)

/*
 * What epoll tells of the descriptors. Ports have no meaning of their own: each turn receives. The
 * program's requests have no place here: the thread that sends a request serves it.
 */
enum direct_event { EVENT_PORT, EVENT_LINK, EVENT_CLIENTS, EVENT_TIMER, EVENT_STOP };

struct rnic_direct {
	struct device_process process;
	struct device *device;
	uint32_t client_id;
	pthread_mutex_t lock; /* guards all but `waiting`, the backoffs and what never changes */
	atomic_uint waiting;  /* threads of the program that want the lock */
	pthread_t thread;
	struct rnic_yield_backoff backoff; /* of `thread`, which alone uses it */

	/* Who takes the turns. */
	uint64_t lease_ns;  /* until then the program does */
	uint32_t renewals;  /* sleeps of the thread on the lease, in a row */
	uint32_t misses;    /* turns after a lease that received, in a row */
	uint32_t takes;	    /* in a watch: arrivals that a polling program met, fewer with others */
	uint64_t polled_ns; /* when the program's latest turn ended */
	bool is_watching;   /* the thread keeps watch: there are no leases */
	bool has_waiter;    /* a thread of the program waits for an event and takes the turns */
	pthread_t waiter;   /* with has_waiter: that thread */
	bool is_attended;   /* a waiter has left, and is expected back before lease_ns */
	uint64_t waited_ns; /* how long the latest waiter has waited */
	struct rnic_yield_backoff wait_backoff; /* of the waiter, which alone uses it */
	uint32_t bystanders; /* threads that wait for an event and take no turns */
	uint32_t sleepers; /* threads that sleep on the descriptors, at most until `timer` fires */
	bool is_leased;	   /* the device's thread sleeps on the lease, until `lease_timer` fires */

	/* Posts that wait for a turn. */
	uint32_t posts;
	uint64_t posted_ns; /* time of the latest post, when no turn came after it; else 0 */
	uint64_t due_ns;    /* when the first of `posts` is to have its turn */
	uint32_t burst;	    /* posts in a row with DIRECT_BURST_NS between two at most */
	uint32_t punctual;  /* turns in time for `posts`; each one that is late halves the number */

	int link_fd;
	int epoll_fd;
	struct wake_timer timer;
	struct wake_timer lease_timer; /* wakes the thread from the sleep on the lease */
	int stop_fd;		       /* an eventfd that ends the thread */
	uint64_t active_ns;	       /* time of the last activity */
	uint64_t received_ns;	       /* time of the last turn that looked for arrivals */
	uint64_t looked_ns;	       /* time of the last poll of the descriptors */
	bool has_news;		       /* one of the descriptors has ended a sleep since then */
	bool is_open;		       /* there is a half, and calls are served */
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
		       uint64_t deadline_ns, bool handlers_may_call);

/* The device's thread. The lock must be free, or the thread waits for it. Negative errno. */
int direct_start_thread(struct rnic_direct *direct);
void direct_stop_thread(struct rnic_direct *direct);

/* ---- under the lock ---- */

/*
 * The time at which the device's thread is to go on, at the end of the lease at the earliest: until
 * then the program does. UINT64_MAX: never.
 */
uint64_t direct_deadline_ns(struct rnic_direct *direct, uint64_t now_ns);

/*
 * Arms the timer that wakes the sleeping thread: at that time or earlier, or up to
 * DIRECT_LONG_SLEEP_NS after the lease of a program that has long come back in time. Does nothing
 * where no thread sleeps: a thread that is awake looks at all deadlines before its next sleep. In a
 * virtual machine, setting the timer costs more than a turn.
 */
void direct_arm(struct rnic_direct *direct, uint64_t now_ns);

/* Leaves the turns to the program for a while, where none of its threads waits for an event. */
void direct_give_lease(struct rnic_direct *direct, uint64_t now_ns);

/* The device's thread keeps watch from now on: no turn of the program begins a lease. */
void direct_begin_watch(struct rnic_direct *direct);

/*
 * Datagrams came while the thread keeps watch. The watch ends when the program has long been there
 * to receive, by turns that follow one another.
 */
void direct_note_arrival_in_watch(struct rnic_direct *direct, uint64_t now_ns);

/* Runs a turn. The second one returns whether datagrams came. */
void direct_turn(struct rnic_direct *direct, uint64_t now_ns);
bool direct_turn_receives(struct rnic_direct *direct, uint64_t now_ns);

/*
 * Serves the events of the descriptors. Returns whether there was anything but datagrams. A look is
 * a system call, and a turn receives without one: call it after a turn where direct_should_look()
 * says so. A sleep on the descriptors looks as well.
 */
bool direct_look(struct rnic_direct *direct, uint64_t now_ns);
bool direct_should_look(const struct rnic_direct *direct, bool has_received, uint64_t now_ns);

/* Tells the control plane what has changed. */
void direct_tell(struct rnic_direct *direct, uint64_t now_ns);

/*
 * Prepares a sleep on the descriptors: counts the caller in `sleepers`, arms the timer, and tells
 * the control plane what has changed. False: there is work, and the caller must not sleep. The
 * caller takes itself out of `sleepers` when the caller wakes, and calls
 * device_withdraw_sleep() in both cases.
 */
bool direct_prepare_sleep(struct rnic_direct *direct, uint64_t now_ns);

/*
 * Lets waiting threads take the lock, which the caller has. The time is bounded: the scheduler may
 * run none of them.
 */
void direct_let_others_in(struct rnic_direct *direct);

#endif
