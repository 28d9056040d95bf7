/* SPDX-License-Identifier: MIT */
#include "daemon/device/host_program/direct_turn.h"

#include "lib/wait/clock.h"
#include "proto/base/time_units.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define DIRECT_YIELDS  100
#define DIRECT_EVENTS  8
#define DIRECT_EXIT_NS (200 * (long)RNIC_NS_PER_MS)

/*
 * Tries for as long as a turn takes: to sleep in the kernel and be woken takes longer. The holder
 * may need this processor.
 */
static bool direct_try_lock(struct rnic_direct *direct)
{
	for (unsigned i = 0; i < DIRECT_YIELDS; i++) {
		if (pthread_mutex_trylock(&direct->lock) == 0)
			return true;
		sched_yield();
	}
	return false;
}

/*
 * A mutex goes to the first thread that asks. While datagrams arrive, the device's thread asks
 * again at once, and the other threads would wait for ever: so that thread looks at `waiting`
 * first.
 */
void direct_take_lock(struct rnic_direct *direct)
{
	atomic_fetch_add_explicit(&direct->waiting, 1, memory_order_relaxed);
	if (!direct_try_lock(direct))
		pthread_mutex_lock(&direct->lock);
	atomic_fetch_sub_explicit(&direct->waiting, 1, memory_order_relaxed);
}

int direct_lock(struct rnic_direct *direct)
{
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	direct_take_lock(direct);
	return cancellation;
}

void direct_unlock(struct rnic_direct *direct, int cancellation)
{
	pthread_mutex_unlock(&direct->lock);
	pthread_setcancelstate(cancellation, NULL);
}

void direct_let_others_in(struct rnic_direct *direct)
{
	if (atomic_load_explicit(&direct->waiting, memory_order_relaxed) == 0)
		return;
	pthread_mutex_unlock(&direct->lock);
	for (unsigned i = 0; i < DIRECT_YIELDS; i++) {
		if (atomic_load_explicit(&direct->waiting, memory_order_relaxed) == 0)
			break;
		sched_yield();
	}
	pthread_mutex_lock(&direct->lock);
}

/* --- turns, under the lock -------------------------------------------------------------------- */

uint64_t direct_deadline_ns(struct rnic_direct *direct, uint64_t now_ns)
{
	const uint64_t own_ns = device_next_deadline_ns(direct->device);
	const uint64_t link_ns = link_client_next_deadline_ns(&direct->process.link, now_ns);

	return turns_deadline_ns(&direct->turns, device_has_work(direct->device),
				 own_ns < link_ns ? own_ns : link_ns, now_ns);
}

enum awake_step direct_next_step(struct rnic_direct *direct, const struct awake *awake,
				 enum awake_who who, uint64_t now_ns)
{
	const struct awake_rule *rule = &awake_rules[who];
	const enum awake_step step = awake_next(awake, rule, now_ns);

	if (step != AWAKE_SLEEP)
		return step;
	return awake_before_sleep(rule, now_ns, direct_deadline_ns(direct, now_ns));
}

/* The device's thread looks at `timer` once it is awake. */
static void direct_arm_lease(struct rnic_direct *direct, uint64_t now_ns)
{
	const uint64_t wake_ns =
		turns_lease_alarm_ns(&direct->turns, direct->lease_timer.armed_ns, now_ns);

	if (wake_ns != UINT64_MAX)
		wake_timer_set(&direct->lease_timer, wake_ns);
}

void direct_arm(struct rnic_direct *direct, uint64_t now_ns)
{
	switch (turns_sleeper(&direct->turns)) {
	case TURNS_NOBODY:
		break;
	case TURNS_SLEEPER_ON_LEASE:
		direct_arm_lease(direct, now_ns);
		break;
	case TURNS_SLEEPER_ON_DESCRIPTORS:
		wake_timer_arm(&direct->timer, direct_deadline_ns(direct, now_ns), now_ns);
		break;
	}
}

/* The control plane is gone: the program's objects end, and the next daemon gets the addresses. */
static void direct_give_up(struct rnic_direct *direct)
{
	char text[PORT_TEXT_BYTES];

	direct->is_down = true;
	epoll_ctl(direct->epoll_fd, EPOLL_CTL_DEL, direct->link_fd, NULL);
	device_end_client(direct->device, direct->client_id);
	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++)
		device_set_gid(direct->device, i, NULL, NULL, text);
	shutdown(direct->link_fd, SHUT_RDWR);
}

/* Carries out what the control plane says. */
static void direct_serve_link(struct rnic_direct *direct)
{
	link_client_poll(&direct->process.link);
	if (direct->process.link.is_down && !direct->is_down)
		direct_give_up(direct);
}

static void direct_serve_requests(struct rnic_direct *direct)
{
	device_note_requests(direct->device);
	if (device_serve(direct->device))
		stats_writer_note_change(&direct->process.stats);
}

static void direct_note_turn(struct rnic_direct *direct, bool was_busy, uint64_t now_ns)
{
	turns_note_turn(&direct->turns, was_busy || device_has_work(direct->device), now_ns);
}

void direct_turn(struct rnic_direct *direct, uint64_t now_ns)
{
	turns_note_receive(&direct->turns, now_ns);
	direct_note_turn(direct, device_turn(direct->device, now_ns), now_ns);
}

bool direct_turn_receives(struct rnic_direct *direct, uint64_t now_ns)
{
	const uint64_t before = device_received_datagrams(direct->device);

	direct_turn(direct, now_ns);
	return device_received_datagrams(direct->device) != before;
}

void direct_tell(struct rnic_direct *direct, uint64_t now_ns)
{
	device_report(direct->device);
	link_client_tick(&direct->process.link, now_ns);
	stats_writer_refresh_if_due(&direct->process.stats, direct->device, now_ns);
}

bool direct_prepare_sleep(struct rnic_direct *direct, uint64_t now_ns)
{
	if (!device_prepare_sleep(direct->device))
		return false;
	direct->turns.sleepers++;
	direct_arm(direct, now_ns);
	device_note_sleep(direct->device);
	direct_tell(direct, now_ns);
	return true;
}

bool direct_should_look(const struct rnic_direct *direct, bool has_received, uint64_t now_ns)
{
	return turns_should_look(&direct->turns, has_received, device_has_resumes(direct->device),
				 now_ns);
}

bool direct_look(struct rnic_direct *direct, uint64_t now_ns)
{
	struct epoll_event events[DIRECT_EVENTS];
	int count = epoll_wait(direct->epoll_fd, events, DIRECT_EVENTS, 0);
	bool is_served = device_has_resumes(direct->device);

	turns_note_look(&direct->turns, now_ns);
	if (is_served)
		direct_serve_requests(direct);
	for (int i = 0; i < count; i++) {
		switch ((enum direct_event)events[i].data.u32) {
		case EVENT_LINK:
			direct_serve_link(direct);
			break;
		case EVENT_CLIENTS:
			device_poll(direct->device);
			break;
		case EVENT_TIMER:
			wake_timer_take(&direct->timer);
			continue;
		case EVENT_PORT:
		case EVENT_STOP:
			continue;
		}
		is_served = true;
	}
	direct_tell(direct, now_ns);
	return is_served;
}

/* When the turn that began at `now_ns` ended: a turn that moved much data may outlast a lease. */
static uint64_t direct_end_of_turn_ns(const struct rnic_direct *direct, uint64_t now_ns)
{
	return direct->turns.active_ns == now_ns ? clock_now_ns() : now_ns;
}

/* After a turn of a thread of the program, which goes on taking turns. */
static void direct_go_on(struct rnic_direct *direct, bool has_received, uint64_t now_ns)
{
	turns_go_on(&direct->turns, has_received, now_ns, direct_end_of_turn_ns(direct, now_ns));
	if (direct_should_look(direct, has_received, now_ns))
		direct_look(direct, now_ns);
	direct_arm(direct, now_ns);
}

static void direct_turn_for_poll(struct rnic_direct *direct)
{
	const uint64_t now_ns = clock_now_ns();

	direct_go_on(direct, direct_turn_receives(direct, now_ns), now_ns);
}

/* --- the program's calls ---------------------------------------------------------------------- */

static void direct_take_post(struct rnic_direct *direct, unsigned post)
{
	const bool wakes = (post & RNIC_DIRECT_POST_WAKES) != 0;
	const bool is_awaited = (post & RNIC_DIRECT_POST_AWAITED) != 0;
	const uint64_t now_ns = clock_now_ns();
	bool has_received = false;

	if (wakes)
		device_wake_clients(direct->device);
	switch (turns_take_post(&direct->turns, wakes, is_awaited, now_ns)) {
	case TURNS_POST_WAITS:
		direct_arm(direct, now_ns);
		return;
	case TURNS_POST_SENDS:
		direct_note_turn(direct, device_turn_to_send(direct->device, now_ns), now_ns);
		break;
	case TURNS_POST_TURNS:
		has_received = direct_turn_receives(direct, now_ns);
		break;
	}
	direct_go_on(direct, has_received, now_ns);
	turns_note_posted(&direct->turns, clock_now_ns());
}

void direct_device_turn(struct rnic_direct *direct, unsigned post)
{
	int cancellation = direct_lock(direct);

	if (direct->is_open)
		direct_take_post(direct, post);
	direct_unlock(direct, cancellation);
}

void direct_device_poll(struct rnic_direct *direct)
{
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	if (pthread_mutex_trylock(&direct->lock) == 0) {
		if (direct->is_open)
			direct_turn_for_poll(direct);
		pthread_mutex_unlock(&direct->lock);
	}
	pthread_setcancelstate(cancellation, NULL);
}

static void direct_turn_before_request(struct rnic_direct *direct, uint64_t now_ns)
{
	if (turns_request_looks(&direct->turns, now_ns))
		direct_turn(direct, now_ns);
	else
		direct_note_turn(direct, device_turn_to_send(direct->device, now_ns), now_ns);
}

/*
 * What the program posted before a request is on its way before the answer. The device does at once
 * what the request leaves to do, so that no other thread wakes for it.
 */
void direct_device_serve(struct rnic_direct *direct)
{
	int cancellation = direct_lock(direct);

	if (direct->is_open) {
		direct_turn_before_request(direct, clock_now_ns());
		direct_serve_requests(direct);
		if (device_has_work(direct->device))
			direct_turn(direct, clock_now_ns());
		direct_arm(direct, clock_now_ns());
	}
	direct_unlock(direct, cancellation);
}

/*
 * The program may exit from a signal handler in the midst of a turn, which then never ends. Another
 * thread's turn ends as soon as that thread has a processor.
 */
static bool direct_lock_to_exit(struct rnic_direct *direct)
{
	struct timespec until;

	if (direct_try_lock(direct))
		return true;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += DIRECT_EXIT_NS;
	if (until.tv_nsec >= (long)RNIC_NS_PER_SECOND) {
		until.tv_nsec -= (long)RNIC_NS_PER_SECOND;
		until.tv_sec++;
	}
	return pthread_mutex_clocklock(&direct->lock, CLOCK_MONOTONIC, &until) == 0;
}

void direct_device_end_waits(struct rnic_direct *direct)
{
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	if (direct_lock_to_exit(direct)) {
		if (direct->is_open) {
			direct_turn(direct, clock_now_ns());
			device_acknowledge_all(direct->device);
			device_note_refusals(direct->device);
		}
		pthread_mutex_unlock(&direct->lock);
	}
	pthread_setcancelstate(cancellation, NULL);
}
