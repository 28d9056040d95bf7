/* SPDX-License-Identifier: MIT */
/* A thread of the program that waits for an event, and takes the turns until the event comes. */
#include "daemon/device/host_program/direct_turn.h"

#include "lib/dropin/guard/guard.h"
#include "lib/wait/clock.h"
#include "lib/wait/read_poll.h"
#include "proto/base/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define DIRECT_WAIT_FDS 64 /* descriptors of a wait at most */

static const atomic_uint *direct_action_changes(const struct rnic_direct *direct)
{
	return direct->guard != NULL ? direct->guard->action_changes : NULL;
}

/* A thread that waits, and for what. The device's epoll instance is the first of `wakes`. */
struct direct_waiter {
	struct rnic_direct *direct;
	struct pollfd wakes[1 + DIRECT_WAIT_FDS + 1]; /* the last place is read_poll()'s */
	unsigned count;				      /* of the descriptors behind the first one */
	uint64_t deadline_ns;			      /* UINT64_MAX: none */
	bool is_read;	  /* a signal ends the wait only where the signal would end read(2) */
	int cancellation; /* the thread's cancellation state while the thread sleeps */
	bool handlers_may_call;
	struct read_poll
		poll; /* with handlers_may_call: its mask is the thread's without the lock */
};

static bool direct_can_interrupt(const struct rnic_direct *direct)
{
	return read_poll_can_interrupt(direct_action_changes(direct));
}

/* As read_poll(), for a program that had no handler that ends read(2) when the wait began. */
static int direct_poll_on(const struct direct_waiter *waiter, struct pollfd *wakes, nfds_t count,
			  uint64_t deadline_ns)
{
	const int ready = poll_until(wakes, count, deadline_ns, NULL);

	return ready == -EINTR && !direct_can_interrupt(waiter->direct) ? 0 : ready;
}

static int direct_poll_until(struct direct_waiter *waiter, struct pollfd *wakes, nfds_t count,
			     uint64_t deadline_ns)
{
	if (waiter->is_read && !waiter->handlers_may_call)
		return direct_poll_on(waiter, wakes, count, deadline_ns);
	if (waiter->is_read)
		return read_poll(&waiter->poll, wakes, count, deadline_ns);
	return poll_until(wakes, count, deadline_ns,
			  waiter->handlers_may_call ? &waiter->poll.mask : NULL);
}

/*
 * Returns how many descriptors are ready, and fills in their `revents`. Negative errno; -EINTR: a
 * signal ends the wait. Signals disturb a poll that does not wait, too. Their handlers run without
 * the lock, so the device may be closed when this returns.
 */
static int direct_count_ready(struct rnic_direct *direct, struct direct_waiter *waiter)
{
	int ready;

	if (waiter->handlers_may_call)
		pthread_mutex_unlock(&direct->lock);
	ready = direct_poll_until(waiter, waiter->wakes + 1, waiter->count, 0);
	if (waiter->handlers_may_call)
		direct_take_lock(direct);
	return ready;
}

static void direct_block_signals(struct direct_waiter *waiter)
{
	sigset_t blocked;

	if (!waiter->handlers_may_call)
		return;
	read_poll_blockable(&blocked);
	pthread_sigmask(SIG_BLOCK, &blocked, &waiter->poll.mask);
}

static void direct_unblock_signals(struct direct_waiter *waiter)
{
	read_poll_end(&waiter->poll);
	if (waiter->handlers_may_call)
		pthread_sigmask(SIG_SETMASK, &waiter->poll.mask, NULL);
}

/* The turns are the program's for another lease, and the device's thread's then. */
static void direct_stop_waiting(struct rnic_direct *direct)
{
	const uint64_t now_ns = clock_now_ns();

	turns_end_wait(&direct->turns, now_ns);
	if (direct->is_open)
		direct_arm(direct, now_ns);
}

/* The waiter was cancelled. Releases the lock. */
static void direct_end_cancelled(struct direct_waiter *waiter)
{
	struct rnic_direct *direct = waiter->direct;

	if (direct->is_open)
		device_withdraw_sleep(direct->device);
	direct_stop_waiting(direct);
	pthread_mutex_unlock(&direct->lock);
	direct_unblock_signals(waiter);
}

static void direct_look_cancelled(void *context)
{
	struct direct_waiter *waiter = context;

	direct_take_lock(waiter->direct);
	direct_end_cancelled(waiter);
}

static void direct_sleep_cancelled(void *context)
{
	struct direct_waiter *waiter = context;

	direct_take_lock(waiter->direct);
	waiter->direct->turns.sleepers--;
	direct_end_cancelled(waiter);
}

static void direct_bystander_cancelled(void *context)
{
	struct direct_waiter *waiter = context;
	struct rnic_direct *direct = waiter->direct;

	direct_take_lock(direct);
	direct->turns.bystanders--;
	pthread_mutex_unlock(&direct->lock);
	direct_unblock_signals(waiter);
}

/*
 * Sleeps on `count` of the waiter's wakes until `until_ns`, with the lock given up meanwhile. A
 * thread may be cancelled while it sleeps, as in read(2) and poll(2). Returns how many of them are
 * ready, or a negative errno; -EINTR: a signal ends the wait.
 */
static int direct_sleep_cancellable(struct rnic_direct *direct, struct direct_waiter *waiter,
				    struct pollfd *wakes, nfds_t count, uint64_t until_ns)
{
	int ready;

	pthread_mutex_unlock(&direct->lock);
	pthread_setcancelstate(waiter->cancellation, NULL);
	ready = direct_poll_until(waiter, wakes, count, until_ns);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	direct_take_lock(direct);
	return ready;
}

/*
 * Looks at the descriptors between two turns. Where others keep the device busy, the waiter may
 * never sleep, and signals and cancellation come here.
 */
static int direct_look_for_event(struct rnic_direct *direct, struct direct_waiter *waiter)
{
	int ready;

	if (!waiter->handlers_may_call)
		return direct_count_ready(direct, waiter);
	pthread_cleanup_push(direct_look_cancelled, waiter);
	ready = direct_sleep_cancellable(direct, waiter, waiter->wakes + 1, waiter->count, 0);
	pthread_cleanup_pop(false);
	return ready;
}

/* The statistics page shows what the device has done soon after, however long the wait is. */
static uint64_t direct_wake_ns(const struct rnic_direct *direct, const struct direct_waiter *waiter)
{
	const uint64_t stats_ns =
		stats_writer_due_ns(&direct->process.stats, direct->turns.active_ns);

	return stats_ns < waiter->deadline_ns ? stats_ns : waiter->deadline_ns;
}

/* Sleeps as the device's thread does, and on the waiter's descriptors too. */
static int direct_sleep_for_event(struct rnic_direct *direct, struct direct_waiter *waiter,
				  uint64_t now_ns)
{
	int ready = 0;

	if (direct_prepare_sleep(direct, now_ns)) {
		pthread_cleanup_push(direct_sleep_cancelled, waiter);
		ready = direct_sleep_cancellable(direct, waiter, waiter->wakes, 1 + waiter->count,
						 direct_wake_ns(direct, waiter));
		pthread_cleanup_pop(false);
		direct->turns.sleepers--;
		if (!direct->is_open)
			return ready < 0 ? ready : 0;
		if (ready > 0 && waiter->wakes[0].revents != 0) {
			turns_note_wake(&direct->turns);
			ready--;
		}
	}
	device_withdraw_sleep(direct->device);
	return ready;
}

static int direct_yield_for_event(struct rnic_direct *direct, struct direct_waiter *waiter)
{
	pthread_mutex_unlock(&direct->lock);
	yield_and_note(&direct->waiter_awake, clock_now_ns());
	direct_take_lock(direct);
	return direct_look_for_event(direct, waiter);
}

/* What a waiter does whose turn found nothing. */
static int direct_idle_for_event(struct rnic_direct *direct, struct direct_waiter *waiter,
				 uint64_t now_ns)
{
	switch (direct_next_step(direct, &direct->waiter_awake, AWAKE_DEVICE_WAITER, now_ns)) {
	case AWAKE_TURN:
		/* The next turn finds what arrives; descriptors of others may wait for a moment. */
		return 0;
	case AWAKE_YIELD:
		return direct_yield_for_event(direct, waiter);
	case AWAKE_SLEEP:
		break;
	}
	return direct_sleep_for_event(direct, waiter, now_ns);
}

/* Takes turns until a descriptor is ready, and sleeps when there is nothing to do. */
static int direct_take_turns(struct rnic_direct *direct, struct direct_waiter *waiter)
{
	const uint64_t began_ns = clock_now_ns();
	uint64_t now_ns = began_ns;
	int result = 0;

	direct->waiter = pthread_self();
	turns_begin_wait(&direct->turns);
	awake_begin(&direct->waiter_awake, began_ns);
	do {
		const bool has_received = direct_turn_receives(direct, now_ns);

		turns_resume_wait(&direct->turns);
		if (direct_should_look(direct, has_received, now_ns))
			direct_look(direct, now_ns);
		if (direct->turns.active_ns == now_ns)
			result = direct_look_for_event(direct, waiter);
		else
			result = direct_idle_for_event(direct, waiter, now_ns);
		direct_let_others_in(direct);
		now_ns = clock_now_ns();
	} while (result == 0 && direct->is_open && now_ns < waiter->deadline_ns);
	awake_note_wait(&direct->waiter_awake, began_ns, now_ns);
	direct_stop_waiting(direct);
	return result;
}

/* Waits until a descriptor is ready, while others take the turns. */
static int direct_stand_by(struct rnic_direct *direct, struct direct_waiter *waiter)
{
	int ready;

	direct->turns.bystanders++;
	ready = direct_count_ready(direct, waiter);
	while (direct->is_open && ready == 0 && clock_now_ns() < waiter->deadline_ns) {
		pthread_cleanup_push(direct_bystander_cancelled, waiter);
		ready = direct_sleep_cancellable(direct, waiter, waiter->wakes + 1, waiter->count,
						 waiter->deadline_ns);
		pthread_cleanup_pop(false);
	}
	direct->turns.bystanders--;
	return ready;
}

static void direct_turn_and_arm(struct rnic_direct *direct)
{
	const uint64_t now_ns = clock_now_ns();

	direct_turn(direct, now_ns);
	direct_arm(direct, now_ns);
}

/* Gives what the program has posted its turn: events that are there may keep it busy for long. */
static void direct_turn_posts(struct rnic_direct *direct)
{
	if (direct->turns.posts > 0)
		direct_turn_and_arm(direct);
}

/*
 * A handler of a signal may wait in the midst of its thread's own wait. The inner wait then takes
 * the turns, and the outer one goes on or ends after it.
 */
static int direct_await_any(struct rnic_direct *direct, struct direct_waiter *waiter)
{
	/* direct_device_await() has just looked. */
	const int ready = waiter->is_read ? 0 : direct_count_ready(direct, waiter);

	if (!direct->is_open)
		return ready;
	if (ready != 0) {
		direct_turn_posts(direct);
		return ready;
	}
	if (!turns_have_waiter(&direct->turns) || pthread_equal(direct->waiter, pthread_self()))
		return direct_take_turns(direct, waiter);
	direct_turn_and_arm(direct);
	return direct_stand_by(direct, waiter);
}

/* The caller is about to sleep elsewhere, and the device's thread keeps watch where turns.h says
 * so. */
static void direct_hand_over(struct rnic_direct *direct)
{
	if (turns_hand_over(&direct->turns, clock_now_ns()))
		direct_turn_and_arm(direct);
	else
		direct_turn_posts(direct);
}

/* The event is there, or the caller does not want to wait for it. */
static void direct_await_nothing(struct rnic_direct *direct, bool is_there)
{
	const int cancellation = direct_lock(direct);

	if (direct->is_open && is_there)
		direct_turn_posts(direct);
	else if (direct->is_open)
		direct_hand_over(direct);
	direct_unlock(direct, cancellation);
}

/* Signals come in the looks and sleeps of the wait, so that none comes between two of them. */
static int direct_await_event(struct rnic_direct *direct, int fd)
{
	struct direct_waiter waiter = {
		.direct = direct,
		.wakes[1] = {.fd = fd, .events = POLLIN},
		.count = 1,
		.deadline_ns = UINT64_MAX,
		.is_read = true,
		.handlers_may_call = direct_can_interrupt(direct),
		.poll.action_changes = direct_action_changes(direct),
	};
	int result = 0;

	direct_block_signals(&waiter);
	waiter.cancellation = direct_lock(direct);
	waiter.wakes[0] = (struct pollfd){.fd = direct->epoll_fd, .events = POLLIN};
	if (direct->is_open)
		result = direct_await_any(direct, &waiter);
	direct_unlock(direct, waiter.cancellation);
	direct_unblock_signals(&waiter);
	return result < 0 ? result : 0;
}

int direct_device_await(struct rnic_direct *direct, int fd)
{
	struct pollfd event = {.fd = fd, .events = POLLIN};
	const bool is_there = poll_until(&event, 1, 0, NULL) > 0;

	if (!is_there && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0)
		return direct_await_event(direct, fd);
	direct_await_nothing(direct, is_there);
	return 0;
}

int direct_device_wait(struct rnic_direct *direct, struct pollfd *descriptors, unsigned count,
		       uint64_t deadline_ns, enum rnic_direct_handlers handlers)
{
	struct direct_waiter waiter = {
		.direct = direct,
		.count = count,
		.deadline_ns = deadline_ns,
		.is_read = handlers == RNIC_DIRECT_HANDLERS_READ,
		.handlers_may_call = handlers != RNIC_DIRECT_HANDLERS_APART,
		.poll.action_changes = direct_action_changes(direct),
	};
	int result = -ENODEV;

	if (count > DIRECT_WAIT_FDS)
		return -E2BIG;
	for (unsigned i = 0; i < count; i++)
		waiter.wakes[1 + i] = descriptors[i];
	direct_block_signals(&waiter);
	waiter.cancellation = direct_lock(direct);
	waiter.wakes[0] = (struct pollfd){.fd = direct->epoll_fd, .events = POLLIN};
	if (direct->is_open)
		result = direct_await_any(direct, &waiter);
	if (result == 0 && !direct->is_open)
		result = -ENODEV;
	direct_unlock(direct, waiter.cancellation);
	direct_unblock_signals(&waiter);
	for (unsigned i = 0; i < count; i++)
		descriptors[i].revents = waiter.wakes[1 + i].revents;
	return result;
}
