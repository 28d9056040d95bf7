/* SPDX-License-Identifier: MIT */
/* A thread of the program that waits for an event, and takes the turns until the event comes. */
#include "device/direct/direct_turn.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/yield.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>

#define DIRECT_SHORT_WAIT_NS (100 * RNIC_NS_PER_US) /* about two wake-ups */

static bool direct_is_ready(int fd)
{
	struct pollfd event = {.fd = fd, .events = POLLIN};

	return poll(&event, 1, 0) != 0;
}

/* The turns are the program's for another lease, and the device's thread's then. */
static void direct_stop_waiting(struct rnic_direct *device)
{
	const uint64_t now_ns = clock_now_ns();

	device->has_waiter = false;
	direct_give_lease(device, now_ns);
	if (device->is_open)
		direct_arm(device, now_ns);
}

/* The thread was cancelled in its sleep, without the lock. */
static void direct_cancelled(void *context)
{
	struct rnic_direct *device = context;

	direct_take_lock(device);
	if (device->is_open)
		device_half_withdraw_sleep(device->half);
	direct_stop_waiting(device);
	pthread_mutex_unlock(&device->lock);
}

static void direct_bystander_cancelled(void *context)
{
	struct rnic_direct *device = context;

	direct_take_lock(device);
	device->bystanders--;
	pthread_mutex_unlock(&device->lock);
}

/*
 * poll(2) comes back for each signal, read(2) only for those whose handler was set without
 * SA_RESTART. Which signal it was is not known: one such handler decides for all.
 */
static bool direct_is_interrupting(void)
{
	struct sigaction action;

	for (int signal = 1; signal <= SIGRTMAX; signal++) {
		if (signal == SIGSEGV || signal == SIGBUS || sigaction(signal, NULL, &action) != 0)
			continue;
		if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
		    (action.sa_flags & SA_RESTART) == 0)
			return true;
	}
	return false;
}

/*
 * Sleeps with the lock given up meanwhile. A thread may be cancelled while it sleeps, as in
 * read(2). -EINTR: a signal came that would have ended read(2).
 */
static int direct_sleep_cancellable(struct rnic_direct *device, struct pollfd *wakes, nfds_t count,
				    int cancellation)
{
	int result;

	pthread_mutex_unlock(&device->lock);
	pthread_setcancelstate(cancellation, NULL);
	result = poll(wakes, count, -1) < 0 ? -errno : 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	direct_take_lock(device);
	return result == -EINTR && direct_is_interrupting() ? -EINTR : 0;
}

/* Sleeps as direct_sleep() does, and on `fd` too. 1: it is readable; -EINTR: a signal came. */
static int direct_sleep_for_event(struct rnic_direct *device, int fd, int cancellation,
				  uint64_t now_ns)
{
	struct pollfd wakes[] = {
		{.fd = device->epoll_fd, .events = POLLIN},
		{.fd = fd, .events = POLLIN},
	};
	int result = 0;

	if (direct_deadline_ns(device, now_ns) <= now_ns + DIRECT_NEAR_NS) {
		pthread_mutex_unlock(&device->lock);
		sched_yield();
		direct_take_lock(device);
		return direct_is_ready(fd);
	}
	if (device_half_prepare_sleep(device->half)) {
		direct_arm(device, now_ns);
		device_half_note_sleep(device->half);
		direct_tell(device, now_ns);
		pthread_cleanup_push(direct_cancelled, device);
		result =
			direct_sleep_cancellable(device, wakes, RNIC_COUNT_OF(wakes), cancellation);
		pthread_cleanup_pop(false);
		device->has_news |= wakes[0].revents != 0;
		if (!device->is_open)
			return 0;
	}
	device_half_withdraw_sleep(device->half);
	return result == 0 && wakes[1].revents != 0 ? 1 : result;
}

/*
 * A wake-up takes longer than a peer that answers at once. So a thread whose last wait was short
 * polls for a moment before it sleeps, unless another thread computes on its processor.
 */
static bool direct_should_spin(const struct rnic_direct *device, uint64_t began_ns, uint64_t now_ns)
{
	return device->waited_ns < DIRECT_SHORT_WAIT_NS && now_ns - began_ns < DIRECT_SPIN_NS &&
	       rnic_yield_backoff_is_returned(&device->wait_backoff, now_ns);
}

static int direct_spin_for_event(struct rnic_direct *device, int fd)
{
	pthread_mutex_unlock(&device->lock);
	yield_and_note(&device->wait_backoff);
	direct_take_lock(device);
	return direct_is_ready(fd);
}

/* Takes turns until `fd` is readable, and sleeps on `fd` when there is nothing to do. */
static int direct_wait(struct rnic_direct *device, int fd, int cancellation)
{
	const uint64_t began_ns = clock_now_ns();
	int result = 0;

	device->has_waiter = true;
	device->lease_ns = 0;
	while (result == 0 && device->is_open) {
		const uint64_t now_ns = clock_now_ns();
		const bool has_received = direct_turn_receives(device, now_ns);

		if (direct_should_look(device, has_received, now_ns))
			direct_look(device, now_ns);
		if (device->active_ns == now_ns)
			result = direct_is_ready(fd);
		else if (direct_should_spin(device, began_ns, now_ns))
			result = direct_spin_for_event(device, fd);
		else
			result = direct_sleep_for_event(device, fd, cancellation, now_ns);
		direct_let_others_in(device);
	}
	device->waited_ns = clock_now_ns() - began_ns;
	direct_stop_waiting(device);
	return result < 0 ? result : 0;
}

/* Waits until `fd` is readable, while others take the turns. */
static int direct_stand_by(struct rnic_direct *device, int fd, int cancellation)
{
	struct pollfd wake = {.fd = fd, .events = POLLIN};
	int result = 0;

	device->bystanders++;
	while (device->is_open && result == 0 && !direct_is_ready(fd)) {
		pthread_cleanup_push(direct_bystander_cancelled, device);
		result = direct_sleep_cancellable(device, &wake, 1, cancellation);
		pthread_cleanup_pop(false);
	}
	device->bystanders--;
	return result;
}

/* Gives what the program has posted its turn: events that are there may keep it busy for long. */
static void direct_turn_posts(struct rnic_direct *device, uint64_t now_ns)
{
	if (device->posts == 0)
		return;
	direct_turn(device, now_ns);
	direct_arm(device, now_ns);
}

static int direct_await_event(struct rnic_direct *device, int fd, int cancellation)
{
	const bool blocks = (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
	const uint64_t now_ns = clock_now_ns();

	if (blocks && direct_is_ready(fd)) {
		direct_turn_posts(device, now_ns);
		return 0;
	}
	if (blocks && !device->has_waiter)
		return direct_wait(device, fd, cancellation);
	/* Where the call does not block, the caller is about to sleep elsewhere. */
	if (!blocks)
		device->lease_ns = now_ns;
	direct_turn(device, now_ns);
	direct_arm(device, now_ns);
	return blocks ? direct_stand_by(device, fd, cancellation) : 0;
}

int direct_device_await(struct rnic_direct *device, int fd)
{
	int cancellation = direct_lock(device);
	int result = 0;

	if (device->is_open)
		result = direct_await_event(device, fd, cancellation);
	direct_unlock(device, cancellation);
	return result;
}
