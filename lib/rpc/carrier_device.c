/* SPDX-License-Identifier: MIT */
#include "rpc/carrier_device.h"

#include "rpc/rpc_sender.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define S UINT64_C(1000000000)

void carrier_random(void *bytes, size_t count)
{
	ssize_t got = getrandom(bytes, count, 0);

	assert(got == (ssize_t)count); /* of up to 256 bytes, always */
}

static int watch(struct carrier_device *device, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(device->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int set_nonblocking(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0 ? 0 : -errno;
}

static int open_descriptors(struct carrier_device *device)
{
	int channel_fd = rnic_channel_fd(device->channel);
	int cm_fd = rnic_cm_channel_fd(device->cm);
	int error;

	device->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	device->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (device->epoll_fd < 0 || device->timer_fd < 0)
		return -errno;
	error = set_nonblocking(channel_fd);
	if (error == 0)
		error = set_nonblocking(cm_fd);
	if (error == 0)
		error = watch(device, channel_fd);
	if (error == 0)
		error = watch(device, cm_fd);
	return error == 0 ? watch(device, device->timer_fd) : error;
}

int carrier_device_open(struct carrier_device *device, const char *socket_path)
{
	int error;

	*device = (struct carrier_device){.epoll_fd = -1, .timer_fd = -1, .timer_ns = RPC_NEVER};
	error = rnic_open(socket_path, &device->context);
	if (error == 0)
		error = rnic_alloc_pd(device->context, &device->pd);
	if (error == 0)
		error = rnic_create_channel(device->context, &device->channel);
	if (error == 0)
		error = rnic_cm_create_channel(device->context, &device->cm);
	if (error == 0)
		error = open_descriptors(device);
	if (error != 0)
		carrier_device_close(device);
	return error;
}

void carrier_device_close(struct carrier_device *device)
{
	if (device->timer_fd >= 0)
		close(device->timer_fd);
	if (device->epoll_fd >= 0)
		close(device->epoll_fd);
	if (device->cm != NULL)
		rnic_cm_destroy_channel(device->cm);
	if (device->channel != NULL)
		rnic_destroy_channel(device->channel);
	if (device->pd != NULL)
		rnic_dealloc_pd(device->pd);
	if (device->context != NULL)
		rnic_close(device->context);
	*device = (struct carrier_device){.epoll_fd = -1, .timer_fd = -1};
}

int carrier_device_wait(struct carrier_device *device, int timeout_ms)
{
	struct epoll_event events[3];
	struct rnic_cq *cq;
	uint64_t expirations;
	int error;

	if (epoll_wait(device->epoll_fd, events, 3, timeout_ms) < 0)
		return -errno;
	if (read(device->timer_fd, &expirations, sizeof(expirations)) > 0)
		device->timer_ns = RPC_NEVER;
	else if (errno != EAGAIN)
		return -errno;
	while ((error = rnic_get_cq_event(device->channel, &cq)) == 0)
		rnic_ack_cq_events(cq, 1);
	return error == -EAGAIN ? 0 : error;
}

void carrier_device_set_timer(struct carrier_device *device, uint64_t deadline_ns)
{
	struct itimerspec at = {{0, 0}, {0, 0}};

	if (deadline_ns == device->timer_ns)
		return;
	device->timer_ns = deadline_ns;
	if (deadline_ns != RPC_NEVER) {
		if (deadline_ns == 0)
			deadline_ns = 1; /* 0 would stop it */
		at.it_value.tv_sec = (time_t)(deadline_ns / S);
		at.it_value.tv_nsec = (long)(deadline_ns % S);
	}
	timerfd_settime(device->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}
