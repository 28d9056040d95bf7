/* SPDX-License-Identifier: MIT */
#include "lib/dropin/rsockets/rsocket_objects.h"

#include "lib/dropin/verbs/ibv_native.h"
#include "lib/wait/awake.h"
#include "lib/wait/clock.h"
#include "lib/wait/read_poll.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

int64_t rnic_rsocket_now_ns(void)
{
	return (int64_t)clock_now_ns();
}

int64_t rnic_rsocket_deadline(const struct rnic_rsocket *rs, int flags, int64_t timeout_ns)
{
	if ((rs->status_flags & O_NONBLOCK) || (flags & MSG_DONTWAIT))
		return 0;
	if (timeout_ns == RNIC_RSOCKET_FOREVER)
		return RNIC_RSOCKET_FOREVER;
	return rnic_rsocket_now_ns() + timeout_ns;
}

/* --- sleepers -------------------------------------------------------------------------------- */

void rnic_rsocket_enlist(struct rnic_rsocket *rs, struct rnic_rsocket_sleeper *sleeper)
{
	sleeper->next = rs->sleepers;
	rs->sleepers = sleeper;
}

void rnic_rsocket_delist(struct rnic_rsocket *rs, struct rnic_rsocket_sleeper *sleeper)
{
	struct rnic_rsocket_sleeper **link = &rs->sleepers;

	while (*link != sleeper)
		link = &(*link)->next;
	*link = sleeper->next;
}

void rnic_rsocket_ring(struct rnic_rsocket *rs)
{
	rs->news++;
	for (struct rnic_rsocket_sleeper *sleeper = rs->sleepers; sleeper != NULL;
	     sleeper = sleeper->next)
		eventfd_write(sleeper->wake_fd, 1);
}

/* --- waiting --------------------------------------------------------------------------------- */

static uint64_t until(int64_t deadline_ns)
{
	return deadline_ns == RNIC_RSOCKET_FOREVER ? UINT64_MAX : (uint64_t)deadline_ns;
}

static int rsocket_sleep_poll(struct pollfd *asked, nfds_t count, int64_t deadline_ns,
			      bool restarts)
{
	if (restarts)
		return read_poll_once(asked, count, until(deadline_ns));
	return poll_until(asked, count, until(deadline_ns), NULL);
}

/* Handlers of signals may call rsockets, and so the device. */
static int rsocket_sleep_in_device(struct ibv_context *device, struct pollfd *asked, nfds_t count,
				   int64_t deadline_ns, bool restarts)
{
	return rnic_native.wait_in_device(
		rnic_native.context(device), asked, (unsigned)count, until(deadline_ns),
		restarts ? RNIC_DIRECT_HANDLERS_READ : RNIC_DIRECT_HANDLERS_POLL);
}

int rnic_rsocket_wait(struct ibv_context *device, struct pollfd *asked, nfds_t count,
		      int64_t deadline_ns, bool restarts)
{
	int ready = -ENODEV;

	if (device != NULL)
		ready = rsocket_sleep_in_device(device, asked, count, deadline_ns, restarts);
	if (ready == -ENODEV || ready == -E2BIG)
		ready = rsocket_sleep_poll(asked, count, deadline_ns, restarts);
	return ready < 0 ? ready : 0;
}

struct sleeper_wait {
	struct rnic_rsocket *rs;
	struct rnic_rsocket_sleeper sleeper;
};

/* Takes the lock again. */
static void sleeper_wait_end(struct sleeper_wait *wait)
{
	rnic_rsocket_lock(wait->rs);
	rnic_rsocket_delist(wait->rs, &wait->sleeper);
	close(wait->sleeper.wake_fd);
}

/* For a thread that is cancelled. */
static void rsocket_sleep_give_up(void *argument)
{
	struct sleeper_wait *wait = argument;

	sleeper_wait_end(wait);
	rnic_rsocket_unlock(wait->rs);
}

/* Asks the kernel for news of the watched descriptors, and of the eventfd behind them. */
static int sleeper_wait(struct rnic_rsocket *rs, struct pollfd *watched, int count,
			int64_t deadline_ns)
{
	struct sleeper_wait wait = {.rs = rs,
				    .sleeper.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	struct ibv_context *device = rs->kind->device(rs);
	int error;

	if (wait.sleeper.wake_fd < 0)
		return -errno;
	watched[count] = (struct pollfd){.fd = wait.sleeper.wake_fd, .events = POLLIN};
	rnic_rsocket_enlist(rs, &wait.sleeper);
	rnic_rsocket_unlock(rs);
	pthread_cleanup_push(rsocket_sleep_give_up, &wait);
	error = rnic_rsocket_wait(device, watched, (nfds_t)count + 1, deadline_ns,
				  deadline_ns == RNIC_RSOCKET_FOREVER);
	pthread_cleanup_pop(false);
	sleeper_wait_end(&wait);
	return error;
}

/*
 * Under the lock, which it gives up while it sleeps. The watched descriptors are armed, and the
 * wait is not over yet.
 */
static int sleep_on(struct rnic_rsocket *rs, struct pollfd *watched, int count, int64_t deadline_ns)
{
	int error = sleeper_wait(rs, watched, count, deadline_ns);
	bool has_news = false;

	if (error != 0)
		return error;
	for (int i = 0; i < count; i++)
		has_news |= watched[i].revents != 0;
	if (has_news)
		rs->kind->woke(rs);
	return 0;
}

static bool has_come(struct rnic_rsocket *rs, bool (*is_done)(const struct rnic_rsocket *))
{
	rs->kind->progress(rs);
	return rs->is_closed || is_done(rs);
}

/* Answers often come sooner than a thread falls asleep and wakes up. */
static bool comes_soon(struct rnic_rsocket *rs, bool (*is_done)(const struct rnic_rsocket *))
{
	struct awake_rule rule = awake_rules[AWAKE_RSOCKET];
	struct awake awake = {0};

	rule.awake_ns = (uint64_t)rnic_rsocket_polling_ns();
	awake_begin(&awake, clock_now_ns());
	do {
		rnic_rsocket_unlock(rs);
		rnic_rsocket_lock(rs);
		if (has_come(rs, is_done))
			return true;
	} while (awake_next(&awake, &rule, clock_now_ns()) != AWAKE_SLEEP);
	return false;
}

int rnic_rsocket_await(struct rnic_rsocket *rs, bool (*is_done)(const struct rnic_rsocket *),
		       int64_t deadline_ns)
{
	bool is_over = has_come(rs, is_done);
	int error = 0;

	if (!is_over && deadline_ns != 0)
		is_over = comes_soon(rs, is_done);
	while (!is_over && error == 0) {
		/* And the eventfd, and a place for the wait. */
		struct pollfd watched[RNIC_RSOCKET_WATCHED_MAX + 2];
		const uint64_t news = rs->news;
		int count;

		if (deadline_ns != RNIC_RSOCKET_FOREVER && rnic_rsocket_now_ns() >= deadline_ns)
			return -EAGAIN;
		count = rs->kind->watch(rs, watched);
		/*
		 * Events from before the queue was armed wake nobody, and may change the
		 * descriptors to watch.
		 */
		is_over = has_come(rs, is_done);
		if (!is_over && rs->news == news) {
			error = sleep_on(rs, watched, count, deadline_ns);
			is_over = has_come(rs, is_done);
		}
	}
	if (rs->is_closed)
		return -EBADF;
	return is_over ? 0 : error;
}
