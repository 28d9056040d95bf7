/* SPDX-License-Identifier: MIT */
#include "sample_wait.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>

#include "common.h"

int stop_on_signals(void)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	if (!CHECK(sigprocmask(SIG_BLOCK, &signals, NULL) == 0, "sigprocmask"))
		return -1;
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return CHECK(fd >= 0, "signalfd") ? fd : -1;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t deadline_from_now(const struct rdma_ctx *ctx)
{
	return ctx->timeout_ms < 0 ? INT64_MAX : now_ms() + ctx->timeout_ms;
}

/* The timeout for poll(2), which counts in an int. An early timeout costs only another turn. */
static int remaining_ms(int64_t deadline_ms)
{
	int64_t remaining;

	if (deadline_ms == INT64_MAX)
		return -1;
	remaining = deadline_ms - now_ms();
	if (remaining < 0)
		return 0;
	return remaining > INT_MAX ? INT_MAX : (int)remaining;
}

int wait_ready(const struct rdma_ctx *ctx, int wanted, int64_t deadline_ms)
{
	struct pollfd polled[] = {
		{.fd = ctx->stop, .events = POLLIN},
		{.fd = wanted & READY_EVENT ? ctx->events->fd : -1, .events = POLLIN},
		{.fd = wanted & READY_COMPLETION ? ctx->completions->fd : -1, .events = POLLIN},
	};
	int count;

	do
		count = poll(polled, sizeof(polled) / sizeof(polled[0]), remaining_ms(deadline_ms));
	while (count < 0 && errno == EINTR);
	if (!CHECK(count >= 0, "poll"))
		return -1;
	if (polled[0].revents != 0) {
		LOG("a signal ends the wait");
		return -1;
	}
	if (count == 0) {
		LOG("nothing came for %d ms", ctx->timeout_ms);
		return -1;
	}
	return (polled[1].revents != 0 ? READY_EVENT : 0) |
	       (polled[2].revents != 0 ? READY_COMPLETION : 0);
}

bool is_stopping(const struct rdma_ctx *ctx)
{
	struct pollfd polled = {.fd = ctx->stop, .events = POLLIN};

	return poll(&polled, 1, 0) == 1;
}

int make_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return CHECK(flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0, "O_NONBLOCK") ? 0
											      : -1;
}
