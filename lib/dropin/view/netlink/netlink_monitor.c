/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/netlink/netlink_monitor.h"

#include "lib/dropin/view/netlink/netlink_source.h"
#include "lib/dropin/view/netlink/nldev_answer.h"
#include "lib/dropin/view/netlink/nldev_fill.h"
#include "lib/wait/quiet_thread.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define MONITOR_PERIOD_MS 500

/* This file calls the kernel for its own sockets, as netlink_socket.c does. */

struct monitor {
	int fd; /* connected to the program's socket */
	struct sockaddr_un program;
	socklen_t program_bytes;
	struct rnic_listed_device known[RNIC_SOCKETS_MAX];
	uint32_t known_count;
	struct netlink_source source;
};

/* ---- news ---- */

/* A program that does not read loses news, as from the kernel. */
static void monitor_tell(const struct monitor *monitor, enum nldev_event event,
			 const struct rnic_listed_device *device)
{
	_Alignas(8) uint8_t message[NLDEV_MESSAGE_BYTES];
	struct nldev_writer writer = {.bytes = message, .room = sizeof(message)};

	nldev_fill_event(&writer, event, device);
	syscall(SYS_sendto, monitor->fd, message, writer.used, MSG_DONTWAIT | MSG_NOSIGNAL, NULL,
		0);
}

static const struct rnic_listed_device *monitor_find(const struct rnic_listed_device *devices,
						     uint32_t count, uint32_t index)
{
	for (uint32_t i = 0; i < count; i++)
		if (devices[i].index == index)
			return &devices[i];
	return NULL;
}

static void monitor_tell_gone(const struct monitor *monitor)
{
	const struct rnic_device_list *list = &monitor->source.list;

	for (uint32_t i = 0; i < monitor->known_count; i++) {
		const struct rnic_listed_device *known = &monitor->known[i];
		const struct rnic_listed_device *now =
			monitor_find(list->devices, list->count, known->index);

		if (now == NULL)
			monitor_tell(monitor, NLDEV_UNREGISTER, known);
		else if (now->attributes.netdev_index != known->attributes.netdev_index)
			monitor_tell(monitor, NLDEV_NETDEV_DETACH, known);
	}
}

static void monitor_tell_come(const struct monitor *monitor)
{
	const struct rnic_device_list *list = &monitor->source.list;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct rnic_listed_device *now = &list->devices[i];
		const struct rnic_listed_device *known =
			monitor_find(monitor->known, monitor->known_count, now->index);

		if (known == NULL)
			monitor_tell(monitor, NLDEV_REGISTER, now);
		if (known == NULL || known->attributes.netdev_index != now->attributes.netdev_index)
			monitor_tell(monitor, NLDEV_NETDEV_ATTACH, now);
	}
}

static void monitor_look(struct monitor *monitor)
{
	netlink_source_open(&monitor->source);
	netlink_source_close(&monitor->source);
}

static void monitor_note(struct monitor *monitor)
{
	monitor->known_count = monitor->source.list.count;
	memcpy(monitor->known, monitor->source.devices,
	       monitor->known_count * sizeof(monitor->known[0]));
}

/* ---- the thread ---- */

/* Sends back what the program's calls have answered to themselves. */
static void monitor_send_back(const struct monitor *monitor)
{
	_Alignas(8) uint8_t message[NLDEV_MESSAGE_BYTES];
	ssize_t length;

	while ((length = syscall(SYS_recvfrom, monitor->fd, message, sizeof(message),
				 MSG_DONTWAIT | MSG_TRUNC, NULL, NULL)) >= 0)
		if ((size_t)length <= sizeof(message))
			syscall(SYS_sendto, monitor->fd, message, (size_t)length, MSG_NOSIGNAL,
				NULL, 0);
}

/* The address is there as long as any process has the program's socket. */
static bool monitor_is_wanted(const struct monitor *monitor)
{
	return syscall(SYS_connect, monitor->fd, &monitor->program, monitor->program_bytes) == 0;
}

static void *monitor_run(void *context)
{
	struct monitor *monitor = context;
	struct pollfd polled = {.fd = monitor->fd, .events = POLLIN};
	struct timespec now;
	int64_t now_ms, due_ms = 0;

	while (monitor_is_wanted(monitor)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
		if (now_ms >= due_ms) {
			monitor_look(monitor);
			monitor_tell_gone(monitor);
			monitor_tell_come(monitor);
			monitor_note(monitor);
			due_ms = now_ms + MONITOR_PERIOD_MS;
		}
		if (syscall(SYS_ppoll, &polled, 1,
			    &(const struct timespec){.tv_nsec = MONITOR_PERIOD_MS * 1000000L}, NULL,
			    0) > 0)
			monitor_send_back(monitor);
	}
	syscall(SYS_close, monitor->fd);
	free(monitor);
	return NULL;
}

/* ---- beginning ---- */

/* Connects the two sockets to each other: since then each takes messages from the other alone. */
static int monitor_connect(struct monitor *monitor, int fd)
{
	const struct sockaddr_un unnamed = {.sun_family = AF_UNIX};
	struct sockaddr_un own;
	socklen_t own_bytes = sizeof(own);

	monitor->program_bytes = sizeof(monitor->program);
	if (syscall(SYS_getsockname, fd, &monitor->program, &monitor->program_bytes) != 0 ||
	    /* The kernel chooses an abstract name. */
	    syscall(SYS_bind, monitor->fd, &unnamed, sizeof(unnamed.sun_family)) != 0 ||
	    syscall(SYS_getsockname, monitor->fd, &own, &own_bytes) != 0 ||
	    syscall(SYS_connect, fd, &own, own_bytes) != 0)
		return -errno;
	if (syscall(SYS_connect, monitor->fd, &monitor->program, monitor->program_bytes) == 0)
		return 0;
	return -errno;
}

int netlink_monitor_begin(int fd)
{
	struct monitor *monitor = calloc(1, sizeof(*monitor));
	int error;

	if (monitor == NULL)
		return -ENOMEM;
	monitor->fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (monitor->fd < 0) {
		error = -errno;
		free(monitor);
		return error;
	}
	/* The program hears of what changes from now on. */
	monitor_look(monitor);
	monitor_note(monitor);
	error = monitor_connect(monitor, fd);
	if (error == 0)
		error = quiet_thread_start(NULL, 0, monitor_run, monitor);
	if (error == 0)
		return 0;
	syscall(SYS_connect, fd, &monitor->program, monitor->program_bytes);
	syscall(SYS_close, monitor->fd);
	free(monitor);
	return error;
}
