/* SPDX-License-Identifier: MIT */
#include "lib/wait/read_poll.h"

#include "lib/wait/clock.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define SIGNAL_LOOKS	 8
#define SEEN_HANDLERS_NS (10 * RNIC_NS_PER_MS)

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/* The signals for which the program has handlers, by what they do to read(2). */
struct signal_handlers {
	sigset_t restarting;
	sigset_t interrupting;
};

static bool signal_is_fault(int signal)
{
	for (unsigned i = 0; i < RNIC_COUNT_OF(faults); i++)
		if (faults[i] == signal)
			return true;
	return false;
}

static void list_handlers(struct signal_handlers *handlers)
{
	struct sigaction action;

	*handlers = (struct signal_handlers){0};
	for (int signal = 1; signal <= SIGRTMAX; signal++) {
		if (signal_is_fault(signal) || sigaction(signal, NULL, &action) != 0 ||
		    action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
			continue;
		if ((action.sa_flags & SA_RESTART) != 0)
			sigaddset(&handlers->restarting, signal);
		else
			sigaddset(&handlers->interrupting, signal);
	}
}

/*
 * The handlers as the calling thread has seen them. To ask for all takes as long as a wake-up or
 * longer, so the thread asks again after changes alone. Where nobody counts changes, the thread
 * asks again after some time, and when a signal has ended a sleep.
 */
struct seen_handlers {
	struct signal_handlers handlers;
	unsigned changes;
	uint64_t until_ns; /* 0: not seen */
};

static _Thread_local struct seen_handlers seen_handlers;

static const struct signal_handlers *see_handlers(const atomic_uint *action_changes)
{
	const unsigned changes = action_changes != NULL ? atomic_load(action_changes) : 0;
	const uint64_t now_ns = action_changes != NULL ? 0 : clock_now_ns();

	if (seen_handlers.changes != changes || now_ns >= seen_handlers.until_ns) {
		seen_handlers.changes = changes;
		seen_handlers.until_ns =
			action_changes != NULL ? UINT64_MAX : now_ns + SEEN_HANDLERS_NS;
		list_handlers(&seen_handlers.handlers);
	}
	return &seen_handlers.handlers;
}

bool read_poll_can_interrupt(const atomic_uint *action_changes)
{
	return !sigisemptyset(&see_handlers(action_changes)->interrupting);
}

void read_poll_blockable(sigset_t *signals)
{
	sigfillset(signals);
	for (unsigned i = 0; i < RNIC_COUNT_OF(faults); i++)
		sigdelset(signals, faults[i]);
}

/* Takes out what is blocked. Returns whether signals are left. */
static bool drop_blocked(sigset_t *signals, const sigset_t *blocked)
{
	bool are_left = false;

	if (sigisemptyset(signals))
		return false;
	for (int signal = 1; signal <= SIGRTMAX; signal++) {
		if (sigismember(blocked, signal) == 1)
			sigdelset(signals, signal);
		are_left = are_left || sigismember(signals, signal) == 1;
	}
	return are_left;
}

int poll_until(struct pollfd *wakes, nfds_t count, uint64_t deadline_ns, const sigset_t *mask)
{
	const uint64_t now_ns = deadline_ns == UINT64_MAX || deadline_ns == 0 ? 0 : clock_now_ns();
	const uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	const struct timespec left = {
		.tv_sec = (time_t)(left_ns / RNIC_NS_PER_SECOND),
		.tv_nsec = (long)(left_ns % RNIC_NS_PER_SECOND),
	};
	const int ready = ppoll(wakes, count, deadline_ns == UINT64_MAX ? NULL : &left, mask);

	return ready < 0 ? -errno : ready;
}

void read_poll_end(struct read_poll *poll)
{
	if (poll->restart_fd > 0)
		close(poll->restart_fd);
	poll->restart_fd = 0;
}

/* For a program with handlers of both kinds, as the header says. */
static int poll_mixed(struct read_poll *poll, struct pollfd *wakes, nfds_t count,
		      uint64_t deadline_ns, const sigset_t *restarting)
{
	struct pollfd *restart = &wakes[count];
	sigset_t mask = poll->mask, before;
	int ready;

	poll->restart_fd = signalfd(-1, restarting, SFD_CLOEXEC | SFD_NONBLOCK);
	if (poll->restart_fd <= 0) {
		poll->restart_fd = 0;
		return poll_until(wakes, count, deadline_ns, &poll->mask);
	}
	sigorset(&mask, &mask, restarting);
	*restart = (struct pollfd){.fd = poll->restart_fd, .events = POLLIN};
	ready = poll_until(wakes, count + 1, deadline_ns, &mask);
	read_poll_end(poll);
	if (ready <= 0 || restart->revents == 0)
		return ready;
	pthread_sigmask(SIG_UNBLOCK, restarting, &before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ready - 1;
}

/*
 * Whether a signal waits that the thread has blocked for the wait alone. The question is a system
 * call, and a thread that finds nothing to do sleeps soon, where signals come: so a look in so many
 * asks.
 */
static bool should_take_signals(struct read_poll *poll)
{
	sigset_t pending;

	if (poll->looks++ % SIGNAL_LOOKS != 0)
		return false;
	if (sigpending(&pending) != 0)
		return true;
	return drop_blocked(&pending, &poll->mask);
}

/* Whether the signal that has ended a sleep ends read(2), by what the thread knew before. */
static bool ends_read(const struct read_poll *poll, bool could_interrupt)
{
	sigset_t interrupting;

	if (could_interrupt || poll->action_changes != NULL)
		return could_interrupt;
	seen_handlers.until_ns = 0;
	interrupting = see_handlers(NULL)->interrupting;
	return drop_blocked(&interrupting, &poll->mask);
}

int read_poll(struct read_poll *poll, struct pollfd *wakes, nfds_t count, uint64_t deadline_ns)
{
	struct signal_handlers handlers;
	bool can_restart, can_interrupt;
	int ready = 0;

	if (deadline_ns == 0) {
		ready = poll_until(wakes, count, 0, NULL);
		if (ready != 0 || !should_take_signals(poll))
			return ready == -EINTR ? 0 : ready;
	}
	handlers = *see_handlers(poll->action_changes);
	can_restart = drop_blocked(&handlers.restarting, &poll->mask);
	can_interrupt = drop_blocked(&handlers.interrupting, &poll->mask);
	if (can_restart && can_interrupt)
		ready = poll_mixed(poll, wakes, count, deadline_ns, &handlers.restarting);
	else
		ready = poll_until(wakes, count, deadline_ns, &poll->mask);
	return ready == -EINTR && !ends_read(poll, can_interrupt) ? 0 : ready;
}

static void read_poll_cancelled(void *poll)
{
	read_poll_end(poll);
}

int read_poll_once(struct pollfd *wakes, nfds_t count, uint64_t deadline_ns)
{
	struct read_poll poll = {.restart_fd = 0};
	int ready;

	pthread_sigmask(SIG_SETMASK, NULL, &poll.mask);
	pthread_cleanup_push(read_poll_cancelled, &poll);
	ready = read_poll(&poll, wakes, count, deadline_ns);
	pthread_cleanup_pop(false);
	return ready;
}
