/* SPDX-License-Identifier: MIT */
/*
 * Where a channel hears of connections: one channel of the native connection manager for each
 * device. Of one device, its descriptor is the channel's. Of several, the channel's descriptor is
 * an epoll instance that watches theirs, and a program polls it and makes it non-blocking as it
 * would a kernel's.
 */
#include "rdmacm/rdma_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static bool has_several(const struct rnic_cma_channel *channel)
{
	return channel->source_count > 1;
}

/* The source's own descriptor never blocks: nobody waits for one device alone. */
static int watch_source(const struct rnic_cma_channel *channel, struct rnic_cma_source *source)
{
	struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = source};
	const int fd = rnic_native.cm_channel_fd(source->native);

	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0 ||
	    epoll_ctl(channel->public.fd, EPOLL_CTL_ADD, fd, &wanted) != 0)
		return -errno;
	return 0;
}

static void forget_source(const struct rnic_cma_channel *channel, struct rnic_cma_source *source)
{
	epoll_ctl(channel->public.fd, EPOLL_CTL_DEL, rnic_native.cm_channel_fd(source->native),
		  NULL);
}

/* A device that was just lost is left out; -ENODEV: all were. */
static int open_sources(struct rnic_cma_channel *channel, struct rnic_cma_device *const devices[],
			uint32_t count)
{
	int error = -ENODEV;

	for (uint32_t i = 0; i < count; i++) {
		struct rnic_cma_source *source = &channel->sources[channel->source_count];

		error = rnic_native.cm_create_channel(devices[i]->native, &source->native);
		if (error == 0) {
			source->device = devices[i];
			channel->source_count++;
		} else if (error != -ENODEV && error != -EIO) {
			return error;
		}
	}
	return channel->source_count > 0 ? 0 : error;
}

static int make_descriptor(struct rnic_cma_channel *channel)
{
	int error = 0;

	if (!has_several(channel)) {
		channel->public.fd = rnic_native.cm_channel_fd(channel->sources[0].native);
		return 0;
	}
	channel->public.fd = epoll_create1(EPOLL_CLOEXEC);
	if (channel->public.fd < 0)
		return -errno;
	for (uint32_t i = 0; error == 0 && i < channel->source_count; i++)
		error = watch_source(channel, &channel->sources[i]);
	if (error != 0)
		close(channel->public.fd);
	return error;
}

static void destroy_sources(struct rnic_cma_channel *channel)
{
	while (channel->source_count > 0)
		rnic_native.cm_destroy_channel(channel->sources[--channel->source_count].native);
	free(channel->sources);
}

int rnic_cma_sources_open(struct rnic_cma_channel *channel)
{
	struct rnic_cma_device *devices[RNIC_CMA_DEVICES_MAX];
	uint32_t count;
	int error = rnic_cma_devices_get(devices, &count);

	if (error != 0)
		return error;
	channel->sources = calloc(count, sizeof(*channel->sources));
	if (channel->sources == NULL)
		return -ENOMEM;
	error = open_sources(channel, devices, count);
	if (error == 0)
		error = make_descriptor(channel);
	if (error != 0)
		destroy_sources(channel);
	return error;
}

/*
 * A thread may still wait at the descriptor, and goes on waiting as with a kernel's: what it waits
 * for is taken away before anything changes there.
 */
int rnic_cma_sources_close(struct rnic_cma_channel *channel)
{
	int error = 0;

	if (!has_several(channel)) {
		error = rnic_native.cm_destroy_channel(channel->sources[0].native);
		if (error == 0)
			free(channel->sources);
		return error;
	}
	for (uint32_t i = 0; i < channel->source_count; i++)
		forget_source(channel, &channel->sources[i]);
	close(channel->public.fd);
	destroy_sources(channel);
	return 0;
}

struct rnic_cma_source *rnic_cma_source_of(struct rnic_cma_channel *channel,
					   const struct rnic_cma_device *device)
{
	for (uint32_t i = 0; i < channel->source_count; i++)
		if (channel->sources[i].device == device)
			return &channel->sources[i];
	return NULL;
}

bool rnic_cma_source_leave(struct rnic_cma_channel *channel, struct rnic_cma_source *source)
{
	if (!has_several(channel) || atomic_exchange(&source->is_drained, true))
		return false;
	forget_source(channel, source);
	return true;
}

/* -EAGAIN: the program does not want to wait. */
static int await_sources(const struct rnic_cma_channel *channel)
{
	struct pollfd ready = {.fd = channel->public.fd, .events = POLLIN};

	if ((fcntl(channel->public.fd, F_GETFL) & O_NONBLOCK) != 0)
		return -EAGAIN;
	return poll(&ready, 1, -1) < 0 ? -errno : 0;
}

/* Looks at all sources, at another one first each time. -EAGAIN: none has an event. */
static int look_at_sources(struct rnic_cma_channel *channel, struct rnic_cm_event *event,
			   struct rnic_cma_source **source)
{
	const uint32_t first = atomic_fetch_add(&channel->next_source, 1);
	int error = -ENODEV;

	for (uint32_t i = 0; i < channel->source_count; i++) {
		*source = &channel->sources[(first + i) % channel->source_count];
		if (atomic_load(&(*source)->is_drained))
			continue;
		error = rnic_native.cm_get_event((*source)->native, event);
		if (error != -EAGAIN)
			return error;
	}
	return error;
}

int rnic_cma_sources_take(struct rnic_cma_channel *channel, struct rnic_cm_event *event,
			  struct rnic_cma_source **source)
{
	int error;

	if (!has_several(channel)) {
		*source = &channel->sources[0];
		return rnic_native.cm_get_event(channel->sources[0].native, event);
	}
	for (;;) {
		error = look_at_sources(channel, event, source);
		if (error != -EAGAIN)
			return error;
		error = await_sources(channel);
		if (error != 0)
			return error;
	}
}
