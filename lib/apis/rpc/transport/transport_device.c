/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/transport/transport_device.h"

#include "lib/apis/rpc/wire/rpc_sender.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define S UINT64_C(1000000000)

const struct transport_device transport_device_none = {
	.epoll_fd = -1, .timer_fd = -1, .wake_fd = -1, .timer_ns = RPC_NEVER};

void transport_random(void *bytes, size_t count)
{
	ssize_t got = getrandom(bytes, count, 0);

	assert(got == (ssize_t)count); /* always complete up to 256 bytes */
}

static int transport_device_watch(struct transport_device *device, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(device->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int set_nonblocking(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0 ? 0 : -errno;
}

static int open_descriptors(struct transport_device *device)
{
	int channel_fd = rnic_channel_fd(device->channel);
	int cm_fd = rnic_cm_channel_fd(device->cm);
	int error;

	device->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	device->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	device->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (device->epoll_fd < 0 || device->timer_fd < 0 || device->wake_fd < 0)
		return -errno;
	error = set_nonblocking(channel_fd);
	if (error == 0)
		error = set_nonblocking(cm_fd);
	if (error == 0)
		error = transport_device_watch(device, channel_fd);
	if (error == 0)
		error = transport_device_watch(device, cm_fd);
	if (error == 0)
		error = transport_device_watch(device, device->wake_fd);
	return error == 0 ? transport_device_watch(device, device->timer_fd) : error;
}

int transport_device_open(struct transport_device *device, const char *socket_path)
{
	int error;

	*device = transport_device_none;
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
		transport_device_close(device);
	return error;
}

void transport_device_close(struct transport_device *device)
{
	if (device->wake_fd >= 0)
		close(device->wake_fd);
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
	*device = transport_device_none;
}

static int clear_timer(struct transport_device *device)
{
	uint64_t expirations;

	if (read(device->timer_fd, &expirations, sizeof(expirations)) > 0)
		device->timer_ns = RPC_NEVER;
	else if (errno != EAGAIN)
		return -errno;
	return 0;
}

static int clear_completion_events(struct transport_device *device)
{
	struct rnic_cq *cq;
	int error;

	while ((error = rnic_get_cq_event(device->channel, &cq)) == 0)
		rnic_ack_cq_events(cq, 1);
	return error == -EAGAIN ? 0 : error;
}

int transport_device_wait(struct transport_device *device, int timeout_ms)
{
	struct pollfd descriptors[] = {
		{.fd = device->timer_fd, .events = POLLIN},
		{.fd = rnic_channel_fd(device->channel), .events = POLLIN},
		{.fd = rnic_cm_channel_fd(device->cm), .events = POLLIN},
	};
	int error = rnic_wait(device->context, descriptors, 3, device->is_woken ? 0 : timeout_ms);

	if (error > 0)
		error = 0;
	if (error == 0 && descriptors[0].revents != 0)
		error = clear_timer(device);
	if (error == 0 && descriptors[1].revents != 0)
		error = clear_completion_events(device);
	device->has_cm_events |= descriptors[2].revents != 0;
	return error;
}

/* A timer that has expired when it is set costs more than everything else that a call needs. */
static void write_wake(struct transport_device *device)
{
	const uint64_t one = 1;

	if (!device->is_woken && write(device->wake_fd, &one, sizeof(one)) == sizeof(one))
		device->is_woken = true;
}

void transport_device_set_timer(struct transport_device *device, uint64_t deadline_ns)
{
	const struct itimerspec at = {.it_value = {.tv_sec = (time_t)(deadline_ns / S),
						   .tv_nsec = (long)(deadline_ns % S)}};

	if (deadline_ns == 0) {
		write_wake(device);
	} else if (deadline_ns < device->timer_ns) {
		device->timer_ns = deadline_ns;
		timerfd_settime(device->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
	}
}

void transport_device_wake(struct transport_device *device)
{
	if (!device->is_at_work)
		write_wake(device);
}

void transport_device_begin_work(struct transport_device *device)
{
	uint64_t count;

	if (device->is_woken && read(device->wake_fd, &count, sizeof(count)) == sizeof(count))
		device->is_woken = false;
	device->is_at_work = true;
}

void transport_device_end_work(struct transport_device *device)
{
	device->is_at_work = false;
}
