/* SPDX-License-Identifier: MIT */
/*
 * One descriptor for all that can come to a context: a set of the descriptors of its completions
 * and of its connection, and of one that stands for what this library has collected already.
 */
#include "lib/apis/connection/iw_objects.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A descriptor that is in the set already stays there; a closed one has left by itself. */
static int iw_poll_watch(const struct iw_ctx_conn *ctx, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (epoll_ctl(ctx->poll_fd, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST)
		return 0;
	return -errno;
}

static int iw_poll_open(struct iw_ctx_conn *ctx)
{
	if (ctx->ready_fd < 0)
		ctx->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ctx->ready_fd < 0)
		return -errno;
	ctx->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	return ctx->poll_fd >= 0 ? iw_poll_watch(ctx, ctx->ready_fd) : -errno;
}

static bool iw_poll_has_come(const struct iw_ctx_conn *ctx)
{
	return ctx->send.ready_count > 0 || ctx->recv.ready_count > 0 ||
	       ctx->recv.advert_count > 0 || ctx->state == RNIC_IW_FAILED ||
	       ctx->state == RNIC_IW_ENDED;
}

/* The count of the descriptor is 1 or 0; neither call can block. */
static void iw_poll_show(const struct iw_ctx_conn *ctx)
{
	uint64_t count = 1;
	ssize_t bytes = read(ctx->ready_fd, &count, sizeof(count));

	count = 1;
	if (iw_poll_has_come(ctx))
		bytes = write(ctx->ready_fd, &count, sizeof(count));
	(void)bytes;
}

int rnic_iw_poll_fd(struct iw_ctx_conn *ctx)
{
	int error = 0;

	if (ctx == NULL)
		return -EINVAL;
	if (ctx->poll_fd < 0)
		error = iw_poll_open(ctx);
	if (error == 0 && ctx->channel != NULL)
		error = iw_poll_watch(ctx, rnic_channel_fd(ctx->channel));
	if (error == 0 && ctx->cm_channel != NULL)
		error = iw_poll_watch(ctx, rnic_cm_channel_fd(ctx->cm_channel));
	if (error == 0)
		error = rnic_iw_arm(ctx);
	if (error < 0)
		return error;
	iw_poll_show(ctx);
	return ctx->poll_fd;
}
