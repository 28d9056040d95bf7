/* SPDX-License-Identifier: MIT */
#include "daemon/device/host_program/direct_turn.h"

#include "lib/wait/clock.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define DIRECT_BURST_NS	   (3 * RNIC_NS_PER_US) /* between two posts of a burst */
#define DIRECT_BURST_POSTS 32			/* a turn comes after so many */
#define DIRECT_EAGER_POSTS 4  /* of a burst, which do not wait where an event is armed */
#define DIRECT_TAKES	   16 /* arrivals that the program meets, before there are leases again */
#define DIRECT_ANSWER_NS   (5 * RNIC_NS_PER_US) /* after a look for arrivals */
#define DIRECT_POLLING_NS  (5 * RNIC_NS_PER_US) /* of absence of a program that polls */
#define DIRECT_YIELDS	   100
#define DIRECT_EVENTS	   8

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
	const uint64_t earliest_ns = direct->lease_ns > now_ns ? direct->lease_ns : now_ns + 1;
	const uint64_t half_ns = device_next_deadline_ns(direct->device);
	const uint64_t link_ns = link_client_next_deadline_ns(&direct->process.link, now_ns);
	const uint64_t deadline_ns = half_ns < link_ns ? half_ns : link_ns;

	if (direct->posts > 0)
		return direct->due_ns > now_ns ? direct->due_ns : now_ns + 1;
	if (device_has_work(direct->device) || deadline_ns < earliest_ns)
		return earliest_ns;
	return deadline_ns;
}

void direct_give_lease(struct rnic_direct *direct, uint64_t now_ns)
{
	const bool has_waiters = direct->has_waiter || direct->bystanders > 0;

	direct->lease_ns = has_waiters ? now_ns : now_ns + DIRECT_LEASE_NS;
}

/*
 * Where a program has long taken its turns in time, the thread sleeps longer than the lease, and
 * the program moves the end of the sleep ahead. In a virtual machine it takes up to 25 us to set a
 * timer, and more to wake a thread in vain, so the program sets the timer seldom.
 */
static void direct_arm_long_sleep(struct rnic_direct *direct)
{
	const uint64_t armed_ns = direct->lease_timer.armed_ns;

	if (armed_ns == UINT64_MAX || armed_ns < direct->lease_ns + DIRECT_LONG_SLEEP_NS / 2)
		wake_timer_set(&direct->lease_timer, direct->lease_ns + DIRECT_LONG_SLEEP_NS);
}

/* The device's thread looks at `timer` once it is awake. */
static void direct_arm_lease(struct rnic_direct *direct, uint64_t now_ns)
{
	const bool is_due_first = direct->posts > 0 && direct->due_ns < direct->lease_ns;
	const uint64_t wake_ns = is_due_first ? direct->due_ns : direct->lease_ns;

	if (!is_due_first && direct->lease_ns > now_ns && direct->renewals >= DIRECT_RENEWALS)
		direct_arm_long_sleep(direct);
	else if (direct->lease_timer.armed_ns > wake_ns)
		wake_timer_set(&direct->lease_timer, wake_ns);
}

void direct_arm(struct rnic_direct *direct, uint64_t now_ns)
{
	if (direct->is_leased && !direct->has_waiter)
		direct_arm_lease(direct, now_ns);
	else if (direct->sleepers > 0)
		wake_timer_arm(&direct->timer, direct_deadline_ns(direct, now_ns), now_ns);
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

/*
 * Notes whether the posts that waited for this turn had the turn in time. A late turn only halves
 * the number. With a low number each burst of posts sets a timer, and setting the timer may take
 * longer than a turn: the next turn would be late for that alone.
 */
static void direct_note_punctuality(struct rnic_direct *direct, uint64_t now_ns)
{
	if (now_ns >= direct->due_ns)
		direct->punctual /= 2;
	else if (direct->punctual < DIRECT_PUNCTUAL_MAX)
		direct->punctual++;
}

static void direct_note_turn(struct rnic_direct *direct, bool is_active, uint64_t now_ns)
{
	if (is_active || device_has_work(direct->device))
		direct->active_ns = now_ns;
	if (direct->posts > 0)
		direct_note_punctuality(direct, now_ns);
	direct->posts = 0;
	direct->posted_ns = 0;
}

void direct_turn(struct rnic_direct *direct, uint64_t now_ns)
{
	direct->received_ns = now_ns;
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
	direct->sleepers++;
	direct_arm(direct, now_ns);
	device_note_sleep(direct->device);
	direct_tell(direct, now_ns);
	return true;
}

bool direct_should_look(const struct rnic_direct *direct, bool has_received, uint64_t now_ns)
{
	return (direct->has_news && !has_received) ||
	       now_ns - direct->looked_ns >= DIRECT_LOOK_NS || device_has_resumes(direct->device);
}

bool direct_look(struct rnic_direct *direct, uint64_t now_ns)
{
	struct epoll_event events[DIRECT_EVENTS];
	int count = epoll_wait(direct->epoll_fd, events, DIRECT_EVENTS, 0);
	bool is_served = device_has_resumes(direct->device);

	direct->has_news = false;
	direct->looked_ns = now_ns;
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

void direct_begin_watch(struct rnic_direct *direct)
{
	direct->is_watching = true;
	direct->takes = 0;
}

void direct_note_arrival_in_watch(struct rnic_direct *direct, uint64_t now_ns)
{
	if (now_ns > direct->polled_ns + DIRECT_POLLING_NS) {
		direct->takes /= 2;
	} else if (++direct->takes >= DIRECT_TAKES) {
		direct->is_watching = false;
		direct->misses = 0;
		direct_give_lease(direct, now_ns);
	}
}

/* When the turn that began at `now_ns` ended: a turn that moved much data may outlast a lease. */
static uint64_t direct_end_of_turn_ns(const struct rnic_direct *direct, uint64_t now_ns)
{
	return direct->active_ns == now_ns ? clock_now_ns() : now_ns;
}

/* A program that was late takes turns in time again before the thread's sleep may be long. */
static void direct_note_late_turn(struct rnic_direct *direct)
{
	if (direct->renewals > DIRECT_RENEWALS)
		direct->renewals = DIRECT_RENEWALS;
	direct->renewals /= 2;
}

/* After a turn of a thread of the program, which goes on taking turns. */
static void direct_go_on(struct rnic_direct *direct, bool has_received, uint64_t now_ns)
{
	direct->polled_ns = direct_end_of_turn_ns(direct, now_ns);
	if (now_ns >= direct->lease_ns && !direct->has_waiter)
		direct_note_late_turn(direct);
	if (direct->is_watching && has_received)
		direct_note_arrival_in_watch(direct, now_ns);
	if (!direct->is_watching)
		direct_give_lease(direct, direct->polled_ns);
	if (direct_should_look(direct, has_received, now_ns))
		direct_look(direct, now_ns);
	direct_arm(direct, now_ns);
}

/*
 * A program that answers has just received: a look for arrivals would only delay the answer, and
 * the program's next poll looks anyway.
 */
static void direct_turn_for_post(struct rnic_direct *direct, uint64_t now_ns)
{
	bool has_received = false;

	if (now_ns - direct->received_ns < DIRECT_ANSWER_NS)
		direct_note_turn(direct, device_turn_to_send(direct->device, now_ns), now_ns);
	else
		has_received = direct_turn_receives(direct, now_ns);
	direct_go_on(direct, has_received, now_ns);
}

static void direct_turn_for_poll(struct rnic_direct *direct)
{
	const uint64_t now_ns = clock_now_ns();

	direct_go_on(direct, direct_turn_receives(direct, now_ns), now_ns);
}

/* Counts the posts that follow one another closely; the latest one comes now. */
static void direct_count_burst(struct rnic_direct *direct, uint64_t now_ns)
{
	const bool is_next = direct->posted_ns != 0 && now_ns - direct->posted_ns < DIRECT_BURST_NS;

	direct->burst = is_next ? direct->burst + 1 : 1;
}

/* Whether the latest post may wait for a later turn, which sends it with others. */
static bool direct_may_defer(const struct rnic_direct *direct, unsigned post)
{
	if ((post & RNIC_DIRECT_POST_WAKES) != 0)
		return false;
	if ((post & RNIC_DIRECT_POST_AWAITED) != 0 && direct->burst <= DIRECT_EAGER_POSTS)
		return false;
	return direct->burst > 1 && direct->posts < DIRECT_BURST_POSTS;
}

/*
 * When the posts from now on are to have their turn. A wake-up of the device's thread costs more
 * than the posts do, so a program that has long come back in time may come back until the thread
 * wakes.
 */
static uint64_t direct_due_ns(const struct rnic_direct *direct, uint64_t now_ns)
{
	const uint64_t due_ns = now_ns + DIRECT_POST_NS;
	const bool is_punctual = direct->punctual >= DIRECT_PUNCTUAL;

	return is_punctual && direct->lease_ns > due_ns ? direct->lease_ns : due_ns;
}

/*
 * A program that goes on posting takes a turn itself, well before the earlier posts are due. So no
 * thread has to wake for them.
 */
static bool direct_is_nearly_due(const struct rnic_direct *direct, uint64_t now_ns)
{
	return direct->posts > 0 && direct->due_ns < now_ns + DIRECT_POST_NS / 2;
}

/* Leaves the post to a later turn, which a sleeping thread takes if no other comes before. */
static void direct_defer_post(struct rnic_direct *direct, uint64_t now_ns)
{
	if (direct->posts++ == 0)
		direct->due_ns = direct_due_ns(direct, now_ns);
	direct->posted_ns = now_ns;
	direct_arm(direct, now_ns);
}

/* --- the program's calls ---------------------------------------------------------------------- */

static void direct_take_post(struct rnic_direct *direct, unsigned post)
{
	const uint64_t now_ns = clock_now_ns();

	if ((post & RNIC_DIRECT_POST_WAKES) != 0)
		device_wake_clients(direct->device);
	direct_count_burst(direct, now_ns);
	if (direct_is_nearly_due(direct, now_ns)) {
		/* This turn does not show whether the program comes back in time without a post. */
		direct->posts = 0;
	} else if (direct_may_defer(direct, post)) {
		direct_defer_post(direct, now_ns);
		return;
	}
	direct_turn_for_post(direct, now_ns);
	direct->posted_ns = clock_now_ns();
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

/*
 * What the program posted before a request is on its way before the answer. The device does at once
 * what the request leaves to do, so that no other thread wakes for it.
 */
void direct_device_serve(struct rnic_direct *direct)
{
	int cancellation = direct_lock(direct);

	if (direct->is_open) {
		direct_turn(direct, clock_now_ns());
		direct_serve_requests(direct);
		if (device_has_work(direct->device))
			direct_turn(direct, clock_now_ns());
		direct_arm(direct, clock_now_ns());
	}
	direct_unlock(direct, cancellation);
}

void direct_device_end_waits(struct rnic_direct *direct)
{
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	if (direct_try_lock(direct)) {
		if (direct->is_open) {
			direct_turn(direct, clock_now_ns());
			device_end_waits(direct->device);
		}
		pthread_mutex_unlock(&direct->lock);
	}
	pthread_setcancelstate(cancellation, NULL);
}
