/* SPDX-License-Identifier: MIT */
/* The device's thread, which takes the turns while no thread of the program does. */
#include "daemon/device/host_program/direct_turn.h"

#include "lib/wait/clock.h"
#include "lib/wait/quiet_thread.h"
#include "proto/base/bits.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define DIRECT_LOCK_PAUSE_NS (20 * RNIC_NS_PER_US) /* the first one; each next is longer */
#define DIRECT_LOCK_LOOKS    100		   /* some 15 ms */
#define DIRECT_STACK_BYTES   (512 * 1024)

/*
 * Takes the lock when it is free. A thread of the program that has the lock takes a turn, and need
 * not wake this one for it: so this one looks again a little later, and less often each time.
 */
static void direct_lock_of_thread(struct rnic_direct *direct)
{
	struct timespec pause = {.tv_nsec = DIRECT_LOCK_PAUSE_NS};

	for (unsigned i = 0; i < DIRECT_LOCK_LOOKS; i++) {
		if (pthread_mutex_trylock(&direct->lock) == 0)
			return;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < (long)TURNS_LEASE_NS / 2)
			pause.tv_nsec += DIRECT_LOCK_PAUSE_NS;
	}
	pthread_mutex_lock(&direct->lock);
}

/*
 * Sleeps while the program takes the turns. A thread that waits for an event wakes this one when it
 * stops waiting: until then there is nothing to look for.
 */
static void direct_await_lease(struct rnic_direct *direct, uint64_t now_ns)
{
	struct pollfd wakes[] = {
		{.fd = direct->stop_fd, .events = POLLIN},
		{.fd = direct->lease_timer.fd, .events = POLLIN},
	};

	turns_note_lease_sleep(&direct->turns);
	direct->lease_timer.armed_ns = UINT64_MAX;
	if (!turns_have_waiter(&direct->turns))
		direct_arm(direct, now_ns);
	pthread_mutex_unlock(&direct->lock);
	poll(wakes, RNIC_COUNT_OF(wakes), -1);
	direct_lock_of_thread(direct);
	turns_note_lease_wake(&direct->turns);
	wake_timer_take(&direct->lease_timer);
}

/*
 * Sleeps until something arrives or is due, with the lock given up meanwhile. Returns whether it
 * slept: not where there is work.
 */
static bool direct_sleep(struct rnic_direct *direct, uint64_t now_ns)
{
	const bool may_sleep = direct_prepare_sleep(direct, now_ns);
	struct epoll_event event;

	if (may_sleep) {
		stats_writer_refresh(&direct->process.stats, direct->device, now_ns);
		pthread_mutex_unlock(&direct->lock);
		epoll_wait(direct->epoll_fd, &event, 1, -1);
		direct_lock_of_thread(direct);
		direct->turns.sleepers--;
		turns_note_wake(&direct->turns);
	}
	device_withdraw_sleep(direct->device);
	return may_sleep;
}

/* One step of the thread, under the lock. Returns whether the thread should yield after it. */
static bool direct_step(struct rnic_direct *direct, bool after_lease, uint64_t now_ns)
{
	const bool has_received = direct_turn_receives(direct, now_ns);
	const bool is_active = direct->turns.active_ns == now_ns;
	enum awake_step step;

	turns_note_threads_turn(&direct->turns, has_received, after_lease, now_ns);
	if (direct_should_look(direct, has_received, now_ns) && direct_look(direct, now_ns))
		turns_note_active(&direct->turns, now_ns);
	if (is_active)
		return false;
	awake_begin(&direct->awake, direct->turns.active_ns);
	step = direct_next_step(direct, &direct->awake, AWAKE_DEVICE_THREAD, now_ns);
	return step == AWAKE_SLEEP ? !direct_sleep(direct, now_ns) : step == AWAKE_YIELD;
}

static void *direct_run(void *context)
{
	struct rnic_direct *direct = context;
	bool after_lease = false;

	pthread_mutex_lock(&direct->lock);
	while (!direct->is_stopping) {
		const uint64_t now_ns = clock_now_ns();
		bool should_yield;

		if (turns_are_programs(&direct->turns, now_ns)) {
			direct_await_lease(direct, now_ns);
			after_lease = true;
			continue;
		}
		turns_end_leases(&direct->turns);
		should_yield = direct_step(direct, after_lease, now_ns);
		after_lease = false;
		pthread_mutex_unlock(&direct->lock);
		if (should_yield)
			yield_and_note(&direct->awake, clock_now_ns());
		direct_lock_of_thread(direct);
		direct_let_others_in(direct);
	}
	pthread_mutex_unlock(&direct->lock);
	return NULL;
}

/* The program's handlers run on the program's threads. */
int direct_start_thread(struct rnic_direct *direct)
{
	return quiet_thread_start(&direct->thread, DIRECT_STACK_BYTES, direct_run, direct);
}

void direct_stop_thread(struct rnic_direct *direct)
{
	const uint64_t one = 1;
	int cancellation = direct_lock(direct);

	direct->is_stopping = true;
	direct_unlock(direct, cancellation);
	while (write(direct->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(direct->thread, NULL);
}
