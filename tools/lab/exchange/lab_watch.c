/* SPDX-License-Identifier: MIT */
#include "tools/lab/exchange/lab_watch.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000, NS_PER_MS = 1000000 };

uint64_t lab_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t lab_deadline_ns(uint32_t seconds)
{
	return lab_now_ns() + (uint64_t)seconds * NS_PER_S;
}

static int timeout_ms(uint64_t deadline_ns)
{
	uint64_t now_ns = lab_now_ns(), left_ms;

	if (deadline_ns == LAB_FOREVER)
		return -1;
	left_ms = deadline_ns <= now_ns ? 0 : (deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

/* Blocks the signals and directs them to *fd, -1 for a new one. */
static int take_signals(int *fd, bool has_children)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	if (has_children)
		sigaddset(&signals, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	*fd = signalfd(*fd, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

int lab_watch_init(struct lab_watch *watch)
{
	signal(SIGPIPE, SIG_IGN);
	*watch = (struct lab_watch){.signal_fd = -1, .peer_fd = -1};
	return take_signals(&watch->signal_fd, false);
}

int lab_watch_children(struct lab_watch *watch)
{
	return take_signals(&watch->signal_fd, true);
}

void lab_watch_fini(struct lab_watch *watch)
{
	close(watch->signal_fd);
}

int lab_wait(struct lab_watch *watch, int fd, short events, uint64_t deadline_ns)
{
	struct signalfd_siginfo info;

	for (;;) {
		struct pollfd waits[] = {
			{.fd = fd, .events = events},
			{.fd = watch->signal_fd, .events = POLLIN},
			{.fd = watch->peer_fd, .events = POLLIN | POLLRDHUP},
		};
		int count = poll(waits, 3, timeout_ms(deadline_ns));

		if (count < 0 && errno != EINTR)
			return -errno;
		if (count == 0)
			return -ETIMEDOUT;
		if (count < 0)
			continue;
		if (waits[1].revents &&
		    read(watch->signal_fd, &info, sizeof(info)) == sizeof(info)) {
			watch->signal = (int)info.ssi_signo;
			return -EINTR;
		}
		if (waits[0].revents)
			return 0;
		if (waits[2].revents)
			return -ECONNRESET;
	}
}
