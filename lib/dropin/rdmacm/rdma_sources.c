/* SPDX-License-Identifier: MIT */
/*
 * Where a channel hears of connections: one channel of the native connection manager for each
 * device. Of one device, its descriptor is the channel's. Of several, the channel's descriptor is
 * an epoll instance that watches all of them, and a program polls it and makes it non-blocking as
 * it would a kernel's.
 */
#include "lib/dropin/rdmacm/rdma_sources.h"

#include "lib/wait/read_poll.h"

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

static int watch(const struct rnic_cma_channel *channel, int fd, uint32_t events)
{
	struct epoll_event wanted = {.events = events};

	return epoll_ctl(channel->public.fd, EPOLL_CTL_ADD, fd, &wanted) == 0 ? 0 : -errno;
}

/* A child of fork() shares the epoll instance with its parent, who goes on watching. */
static void forget(const struct rnic_cma_channel *channel, int fd)
{
	if (channel->owner == getpid())
		epoll_ctl(channel->public.fd, EPOLL_CTL_DEL, fd, NULL);
}

/* Of a source that is not open, the loss of its device is all there is to watch. */
static int watch_device(const struct rnic_cma_channel *channel,
			const struct rnic_cma_source *source)
{
	return watch(channel, rnic_native.context_loss_fd(source->device->native), EPOLLRDHUP);
}

static void forget_device(const struct rnic_cma_channel *channel,
			  const struct rnic_cma_source *source)
{
	forget(channel, rnic_native.context_loss_fd(source->device->native));
}

/* The source's own descriptor never blocks: nobody waits for one device alone. */
static int watch_native(const struct rnic_cma_channel *channel,
			const struct rnic_cm_channel *native)
{
	const int fd = rnic_native.cm_channel_fd(native);

	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
		return -errno;
	return watch(channel, fd, EPOLLIN);
}

/* Under `opening`. */
static int open_native(const struct rnic_cma_channel *channel, struct rnic_cma_source *source)
{
	struct rnic_cm_channel *native;
	int error = rnic_native.cm_create_channel(source->device->native, &native);

	if (error == 0 && has_several(channel)) {
		error = watch_native(channel, native);
		if (error == 0)
			forget_device(channel, source);
		else
			rnic_native.cm_destroy_channel(native);
	}
	if (error == 0)
		atomic_store(&source->native, native);
	return error;
}

int rnic_cma_source_open(const struct rnic_cma_channel *channel, struct rnic_cma_source *source)
{
	int error;

	if (atomic_load(&source->native) != NULL)
		return 0;
	/* In a child of fork() nobody may ever unlock `opening`, but the device is lost. */
	error = rnic_native.context_check(source->device->native);
	if (error != 0)
		return error;
	pthread_mutex_lock(&source->opening);
	if (atomic_load(&source->native) == NULL)
		error = open_native(channel, source);
	pthread_mutex_unlock(&source->opening);
	return error;
}

/* Of one device, the descriptor of its source is the channel's. */
static int use_only_source(struct rnic_cma_channel *channel)
{
	int error = rnic_cma_source_open(channel, &channel->sources[0]);

	if (error == 0)
		channel->public.fd = rnic_native.cm_channel_fd(channel->sources[0].native);
	return error;
}

static int watch_devices(struct rnic_cma_channel *channel)
{
	int error = 0;

	channel->public.fd = epoll_create1(EPOLL_CLOEXEC);
	if (channel->public.fd < 0)
		return -errno;
	for (uint32_t i = 0; error == 0 && i < channel->source_count; i++)
		error = watch_device(channel, &channel->sources[i]);
	if (error != 0)
		close(channel->public.fd);
	return error;
}

static void free_sources(struct rnic_cma_channel *channel)
{
	for (uint32_t i = 0; i < channel->source_count; i++) {
		struct rnic_cm_channel *native = atomic_load(&channel->sources[i].native);

		if (native != NULL)
			rnic_native.cm_destroy_channel(native);
		pthread_mutex_destroy(&channel->sources[i].opening);
	}
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
	channel->owner = getpid();
	channel->source_count = count;
	for (uint32_t i = 0; i < count; i++) {
		channel->sources[i].device = devices[i];
		pthread_mutex_init(&channel->sources[i].opening, NULL);
	}
	error = has_several(channel) ? watch_devices(channel) : use_only_source(channel);
	if (error != 0)
		free_sources(channel);
	return error;
}

void rnic_cma_sources_close(struct rnic_cma_channel *channel)
{
	if (has_several(channel))
		close(channel->public.fd);
	free_sources(channel);
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
	struct rnic_cm_channel *native = atomic_load(&source->native);
	bool are_left = false;

	if (!has_several(channel))
		return false;
	if (!atomic_exchange(&source->is_drained, true)) {
		forget_device(channel, source);
		if (native != NULL)
			forget(channel, rnic_native.cm_channel_fd(native));
	}
	for (uint32_t i = 0; i < channel->source_count; i++)
		are_left = are_left || !atomic_load(&channel->sources[i].is_drained);
	return are_left;
}

/* As a native channel of one device: it waits for no event that was announced and taken back. */
static bool may_sleep(struct rnic_cma_channel *channel)
{
	bool took_back = false;

	for (uint32_t i = 0; i < channel->source_count; i++) {
		struct rnic_cm_channel *native = atomic_load(&channel->sources[i].native);

		if (native != NULL && rnic_native.cm_took_back(native))
			took_back = true;
	}
	if (took_back && !atomic_load(&channel->has_waited))
		return false;
	atomic_store(&channel->has_waited, true);
	return true;
}

/* -EAGAIN: the program does not want to wait. */
static int await_sources(struct rnic_cma_channel *channel)
{
	struct pollfd wakes[2] = {{.fd = channel->public.fd, .events = POLLIN}};
	int ready = 0;

	if ((fcntl(channel->public.fd, F_GETFL) & O_NONBLOCK) != 0 || !may_sleep(channel))
		return -EAGAIN;
	if (rnic_native.wait_awake(wakes, 1) > 0)
		return 0;
	while (ready == 0)
		ready = read_poll_once(wakes, 1, UINT64_MAX);
	return ready < 0 ? ready : 0;
}

/* -EAGAIN: the source has no event, or is not open. */
static int look_at_source(const struct rnic_cma_source *source, struct rnic_cm_event *event)
{
	struct rnic_cm_channel *native = atomic_load(&source->native);
	int error;

	if (native != NULL)
		return rnic_native.cm_get_event(native, event);
	error = rnic_native.context_check(source->device->native);
	return error != 0 ? error : -EAGAIN;
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
		error = look_at_source(*source, event);
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
