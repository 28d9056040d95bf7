/* SPDX-License-Identifier: MIT */
/* rpoll() and rselect(): rsockets and ordinary descriptors, one list. */
#include "lib/dropin/rsockets/rsocket_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

/* Events that poll() reports whether the caller asked for them or not. */
#define ALWAYS (POLLERR | POLLHUP | POLLNVAL)

/* One entry of the caller's list. */
struct waiter {
	struct rnic_rsocket *rs; /* NULL: an ordinary descriptor */
	struct rnic_rsocket_sleeper sleeper;
	nfds_t watched_at; /* its place among the kernel's entries */
	int watched;
};

struct round {
	struct pollfd *fds;
	nfds_t count;
	bool has_any; /* one of them is an rsocket */
	struct waiter *waiters;
	struct pollfd *asked; /* the kernel's entries: the eventfd, then the watched descriptors of
				 each waiter */
	nfds_t asked_count;
	int wake_fd;
	/* Of one of the rsockets: other devices receive by threads of their own. NULL: none yet. */
	struct ibv_context *device;
};

/* --- the list -------------------------------------------------------------------------------- */

static void rsocket_poll_release(void *argument)
{
	struct round *round = argument;

	for (nfds_t i = 0; round->waiters != NULL && i < round->count; i++)
		if (round->waiters[i].rs != NULL)
			rnic_rsocket_put(round->waiters[i].rs);
	rnic_rsocket_locks_begin();
	free(round->waiters);
	free(round->asked);
	rnic_rsocket_locks_end();
}

static int rsocket_poll_allocate(struct round *round)
{
	rnic_rsocket_locks_begin();
	round->waiters = calloc(round->count + 1, sizeof(*round->waiters));
	round->asked = calloc(round->count * RNIC_RSOCKET_WATCHED_MAX + 1, sizeof(*round->asked));
	rnic_rsocket_locks_end();
	return round->waiters == NULL || round->asked == NULL ? -ENOMEM : 0;
}

/* Finds the rsockets among the descriptors. */
static int rsocket_poll_prepare(struct round *round)
{
	int error = rnic_rsocket_is_interrupted() ? -EDEADLK : rsocket_poll_allocate(round);

	if (error != 0)
		return error;
	for (nfds_t i = 0; i < round->count; i++) {
		round->waiters[i].rs = rnic_rsocket_get(round->fds[i].fd);
		round->has_any |= round->waiters[i].rs != NULL;
	}
	return 0;
}

/* --- looking --------------------------------------------------------------------------------- */

static short events_of(struct rnic_rsocket *rs, short wanted)
{
	return rs->kind->events(rs) & (wanted | ALWAYS);
}

/* The kernel's events of an ordinary descriptor, asked for now. */
static short rsocket_poll_ask(int fd, short events)
{
	struct pollfd one = {.fd = fd, .events = events};

	return poll(&one, 1, 0) > 0 ? one.revents : 0;
}

/* Fills in `revents`; returns the number of entries that have any. */
static int rsocket_poll_look(struct round *round)
{
	int ready = 0;

	for (nfds_t i = 0; i < round->count; i++) {
		struct pollfd *fd = &round->fds[i];
		struct rnic_rsocket *rs = round->waiters[i].rs;

		if (rs == NULL) {
			fd->revents = rsocket_poll_ask(fd->fd, fd->events);
		} else {
			rnic_rsocket_lock(rs);
			rs->kind->progress(rs);
			fd->revents = events_of(rs, fd->events);
			rnic_rsocket_unlock(rs);
		}
		ready += fd->revents != 0;
	}
	return ready;
}

/* --- sleeping -------------------------------------------------------------------------------- */

/* Adds the entries to ask the kernel about an rsocket. True: look again before sleeping. */
static bool rsocket_poll_arm(struct round *round, struct waiter *waiter, short wanted)
{
	struct rnic_rsocket *rs = waiter->rs;
	uint64_t news;
	bool looks_again;

	rnic_rsocket_lock(rs);
	news = rs->news;
	waiter->sleeper.wake_fd = round->wake_fd;
	rnic_rsocket_enlist(rs, &waiter->sleeper);
	waiter->watched_at = round->asked_count;
	waiter->watched = rs->kind->watch(rs, &round->asked[round->asked_count]);
	round->asked_count += (nfds_t)waiter->watched;
	if (round->device == NULL)
		round->device = rs->kind->device(rs);
	/*
	 * Events from before the queue was armed wake nobody, and may change the descriptors to
	 * watch.
	 */
	rs->kind->progress(rs);
	looks_again = rs->news != news || events_of(rs, wanted) != 0;
	rnic_rsocket_unlock(rs);
	return looks_again;
}

static bool arm_all(struct round *round)
{
	bool looks_again = false;

	round->asked[0] = (struct pollfd){.fd = round->wake_fd, .events = POLLIN};
	round->asked_count = 1;
	for (nfds_t i = 0; i < round->count; i++) {
		if (round->waiters[i].rs != NULL)
			looks_again |=
				rsocket_poll_arm(round, &round->waiters[i], round->fds[i].events);
		else
			round->asked[round->asked_count++] = round->fds[i];
	}
	return looks_again;
}

static void disarm(struct round *round, struct waiter *waiter)
{
	struct rnic_rsocket *rs = waiter->rs;
	bool has_news = false;

	for (int i = 0; i < waiter->watched; i++)
		has_news |= round->asked[waiter->watched_at + (nfds_t)i].revents != 0;
	rnic_rsocket_lock(rs);
	rnic_rsocket_delist(rs, &waiter->sleeper);
	if (has_news)
		rs->kind->woke(rs);
	rnic_rsocket_unlock(rs);
}

static void rsocket_poll_end_sleep(void *argument)
{
	struct round *round = argument;

	for (nfds_t i = 0; i < round->count; i++)
		if (round->waiters[i].rs != NULL)
			disarm(round, &round->waiters[i]);
	close(round->wake_fd);
}

/* Waits until an entry may be ready. -EINTR and others of poll(). */
static int sleep_until(struct round *round, int64_t deadline_ns)
{
	int error;

	round->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (round->wake_fd < 0)
		return -errno;
	pthread_cleanup_push(rsocket_poll_end_sleep, round);
	error = arm_all(round) ? 0
			       : rnic_rsocket_wait(round->device, round->asked, round->asked_count,
						   deadline_ns, false);
	pthread_cleanup_pop(true);
	return error;
}

static int wait_for_any(struct round *round, int64_t deadline_ns)
{
	for (;;) {
		const int ready = rsocket_poll_look(round);
		int error;

		if (ready > 0)
			return ready;
		if (deadline_ns != RNIC_RSOCKET_FOREVER && rnic_rsocket_now_ns() >= deadline_ns)
			return 0;
		error = sleep_until(round, deadline_ns);
		if (error != 0)
			return error;
	}
}

/* Nanoseconds, negative: for ever. */
static int poll_for(struct pollfd *fds, nfds_t nfds, int64_t timeout_ns)
{
	RNIC_RSOCKET_CALL;
	struct round round = {.fds = fds, .count = nfds};
	const int64_t deadline =
		timeout_ns < 0 ? RNIC_RSOCKET_FOREVER : rnic_rsocket_now_ns() + timeout_ns;
	int result = rsocket_poll_prepare(&round);

	pthread_cleanup_push(rsocket_poll_release, &round);
	if (result == 0 && !round.has_any) {
		const struct timespec timeout = {.tv_sec = timeout_ns / 1000000000,
						 .tv_nsec = timeout_ns % 1000000000};

		result = ppoll(fds, nfds, timeout_ns < 0 ? NULL : &timeout, NULL);
		if (result < 0)
			result = -errno;
	} else if (result == 0) {
		result = wait_for_any(&round, deadline);
	}
	pthread_cleanup_pop(true);
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	return poll_for(fds, nfds, timeout < 0 ? -1 : (int64_t)timeout * 1000000);
}

/* --- rselect() ------------------------------------------------------------------------------- */

/* The events that select() calls ready, as the kernel sees them. */
static const struct {
	short asked, ready;
} sets[] = {
	{POLLIN, POLLIN | POLLHUP | POLLERR},
	{POLLOUT, POLLOUT | POLLERR},
	{POLLPRI, POLLPRI},
};

#define SETS (sizeof(sets) / sizeof(sets[0]))

static nfds_t list_sets(int nfds, fd_set *const given[SETS], struct pollfd *fds)
{
	nfds_t count = 0;

	for (int fd = 0; fd < nfds; fd++) {
		short wanted = 0;

		for (size_t i = 0; i < SETS; i++)
			if (given[i] != NULL && FD_ISSET(fd, given[i]))
				wanted |= sets[i].asked;
		if (wanted != 0)
			fds[count++] = (struct pollfd){.fd = fd, .events = wanted};
	}
	return count;
}

/* Returns the number of bits that it sets. -EBADF: one was no descriptor. */
static int fill_sets(fd_set *const given[SETS], const struct pollfd *fds, nfds_t count)
{
	int bits = 0;

	for (nfds_t i = 0; i < count; i++)
		if (fds[i].revents & POLLNVAL)
			return -EBADF;
	for (size_t i = 0; i < SETS; i++) {
		if (given[i] == NULL)
			continue;
		FD_ZERO(given[i]);
		for (nfds_t j = 0; j < count; j++) {
			if (!(fds[j].events & sets[i].asked) || !(fds[j].revents & sets[i].ready))
				continue;
			FD_SET(fds[j].fd, given[i]);
			bits++;
		}
	}
	return bits;
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout)
{
	fd_set *const given[SETS] = {readfds, writefds, exceptfds};
	struct pollfd fds[FD_SETSIZE];
	nfds_t count;
	int result;

	if (nfds < 0 || nfds > FD_SETSIZE) {
		errno = EINVAL;
		return -1;
	}
	count = list_sets(nfds, given, fds);
	result = poll_for(fds, count,
			  timeout == NULL
				  ? -1
				  : ((int64_t)timeout->tv_sec * 1000000 + timeout->tv_usec) * 1000);
	if (result < 0)
		return -1;
	result = fill_sets(given, fds, count);
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}
