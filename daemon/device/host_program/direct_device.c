/* SPDX-License-Identifier: MIT */
/* How the device inside a program comes and goes. */
#include "daemon/device/host_program/direct_turn.h"

#include "daemon/device/device_config.h"
#include "daemon/shared/base/log.h"
#include "lib/dropin/guard/guard.h"
#include "lib/wait/clock.h"
#include "proto/base/bits.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIRECT_FACTS_MS 10000

static int direct_watch(struct rnic_direct *direct, int fd, enum direct_event kind)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = kind};

	return epoll_ctl(direct->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static void direct_watch_port(void *context, int fd, bool for_writing)
{
	struct rnic_direct *direct = context;
	struct epoll_event event = {
		.events = for_writing ? EPOLLIN | EPOLLOUT : EPOLLIN,
		.data.u32 = EVENT_PORT,
	};

	epoll_ctl(direct->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int direct_watch_all(struct rnic_direct *direct)
{
	const struct {
		int fd;
		enum direct_event kind;
	} watches[] = {
		{direct->link_fd, EVENT_LINK},
		{device_clients_fd(direct->device), EVENT_CLIENTS},
		{direct->timer.fd, EVENT_TIMER},
		{direct->stop_fd, EVENT_STOP},
	};
	int result = 0;

	for (unsigned i = 0; i < RNIC_COUNT_OF(watches) && result == 0; i++)
		result = direct_watch(direct, watches[i].fd, watches[i].kind);
	device_watch(direct->device, direct_watch_port, direct);
	return result;
}

static int direct_open_descriptors(struct rnic_direct *direct)
{
	int result = wake_timer_open(&direct->timer);

	if (result == 0)
		result = wake_timer_open(&direct->lease_timer);
	if (result != 0)
		return result;
	direct->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	direct->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return direct->epoll_fd < 0 || direct->stop_fd < 0 ? -errno : 0;
}

static void direct_close_descriptors(struct rnic_direct *direct)
{
	int *const fds[] = {&direct->epoll_fd, &direct->timer.fd, &direct->lease_timer.fd,
			    &direct->stop_fd};

	for (unsigned i = 0; i < RNIC_COUNT_OF(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

/* Waits for the first facts: what the program does next may rest on them. */
static int direct_await_facts(struct rnic_direct *direct)
{
	struct link_client *link = &direct->process.link;
	struct pollfd news = {.fd = direct->link_fd, .events = POLLIN};

	while (link->facts_sequence == 0) {
		if (poll(&news, 1, DIRECT_FACTS_MS) == 0)
			return -ETIMEDOUT;
		link_client_poll(link);
		if (link->is_down)
			return -ENODEV;
	}
	return 0;
}

/* Gives the device its one client, the program. */
static int direct_add_client(struct rnic_direct *direct, atomic_int *connection_fd)
{
	struct device_client client = {
		.client_id = direct->client_id,
		.uid = geteuid(),
		.pid = getpid(),
		.pid_fd = (int)syscall(SYS_pidfd_open, getpid(), 0),
	};
	int fds[2];
	int result;

	/* The client's deadlines count from the latest turn. */
	direct_turn(direct, clock_now_ns());
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
		result = -errno;
		if (client.pid_fd >= 0)
			close(client.pid_fd);
		return result;
	}
	client.connection_fd = fds[1];
	snprintf(client.program, sizeof(client.program), "%s", program_invocation_short_name);
	result = device_add_client(direct->device, &client);
	if (result != 0) {
		close(fds[0]);
		return result;
	}
	atomic_store(connection_fd, fds[0]);
	return 0;
}

static int direct_begin(struct rnic_direct *direct, atomic_int *connection_fd)
{
	int result = direct_watch_all(direct);

	if (result == 0)
		result = device_process_begin(&direct->process);
	if (result == 0)
		result = direct_await_facts(direct);
	if (result == 0)
		result = direct_add_client(direct, connection_fd);
	if (result == 0)
		result = direct_start_thread(direct);
	direct->has_thread = result == 0;
	return result;
}

static struct rnic_direct *direct_device_create(int link_fd, uint32_t client_id)
{
	struct rnic_direct *direct = calloc(1, sizeof(*direct));

	if (direct == NULL)
		return NULL;
	direct->client_id = client_id;
	direct->link_fd = link_fd;
	direct->epoll_fd = -1;
	direct->timer.fd = -1;
	direct->lease_timer.fd = -1;
	direct->stop_fd = -1;
	pthread_mutex_init(&direct->lock, NULL);
	return direct;
}

static int direct_open_under_lock(struct rnic_direct *direct, atomic_int *connection_fd)
{
	struct device_process_role role = {.is_program = true};
	int result = direct_open_descriptors(direct);

	if (result != 0)
		return result;
	/* Without a guard, system calls reach the program's memory. */
	if (rnic_guard_open(&role.guard) != 0)
		role.guard = NULL;
	direct->guard = role.guard;
	result = device_process_open(&direct->process, direct->link_fd, &role);
	if (result != 0)
		return result;
	direct->device = direct->process.device;
	direct->is_open = true;
	return direct_begin(direct, connection_fd);
}

static int direct_device_open(struct rnic_direct *direct, atomic_int *connection_fd)
{
	int cancellation = direct_lock(direct);
	int result;

	log_set_level(LOG_LEVEL_ERROR);
	result = direct_open_under_lock(direct, connection_fd);
	direct_unlock(direct, cancellation);
	return result;
}

/*
 * The link goes last: its end says that the program has nothing of the lane any more. A fork()
 * waits for the lock, so that no child keeps a copy of what is being closed.
 */
static void direct_device_close(struct rnic_direct *direct)
{
	int cancellation;

	if (direct->has_thread)
		direct_stop_thread(direct);
	cancellation = direct_lock(direct);
	if (direct->is_open)
		device_process_close(&direct->process);
	direct->is_open = false;
	direct_close_descriptors(direct);
	close(direct->link_fd);
	direct->link_fd = -1;
	direct_unlock(direct, cancellation);
}

static void direct_device_destroy(struct rnic_direct *direct)
{
	pthread_mutex_destroy(&direct->lock);
	free(direct);
}

/*
 * The child's memory keeps what the parent made there; only descriptors reach beyond it. Where a
 * handler of a signal forks, the child may return into a wait, which then ends.
 */
static void direct_forget(struct rnic_direct *direct)
{
	if (direct->is_open)
		device_process_forget(&direct->process);
	direct->is_open = false;
	turns_end_wait(&direct->turns, 0);
	direct_close_descriptors(direct);
	if (direct->link_fd >= 0)
		close(direct->link_fd);
	direct->link_fd = -1;
	atomic_store(&direct->waiting, 0);
	pthread_mutex_unlock(&direct->lock);
}

static void direct_device_fork(struct rnic_direct *direct, enum rnic_direct_fork phase)
{
	switch (phase) {
	case RNIC_DIRECT_BEFORE_FORK:
		direct_take_lock(direct);
		break;
	case RNIC_DIRECT_IN_PARENT:
		pthread_mutex_unlock(&direct->lock);
		break;
	case RNIC_DIRECT_IN_CHILD:
		direct_forget(direct);
		break;
	}
}

extern const struct rnic_direct_device RNIC_DIRECT_SYMBOL;

const struct rnic_direct_device RNIC_DIRECT_SYMBOL __attribute__((visibility("default"))) = {
	.create = direct_device_create,
	.open = direct_device_open,
	.close = direct_device_close,
	.destroy = direct_device_destroy,
	.turn = direct_device_turn,
	.poll = direct_device_poll,
	.await = direct_device_await,
	.wait = direct_device_wait,
	.serve = direct_device_serve,
	.end_waits = direct_device_end_waits,
	.fork = direct_device_fork,
};
