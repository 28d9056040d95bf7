/* SPDX-License-Identifier: MIT */
#include "control/ctl_handlers.h"

#include "client/client.h"
#include "client/client_set.h"
#include "device/device_half.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.5; headers of older C libraries lack the constant. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Copies the name that a client gives itself, made fit for a log line or a terminal. */
static void hello_copy_program(char *program, const char *claimed)
{
	uint32_t length = 0;

	while (length < RNIC_CTL_NAME_BYTES - 1 && claimed[length] != '\0') {
		char character = claimed[length];

		program[length++] = character > ' ' && character <= '~' ? character : '?';
	}
	memset(program + length, 0, RNIC_CTL_NAME_BYTES - length);
}

/*
 * Returns a PID descriptor of the process that connected, as the kernel recorded it at that time
 * (Linux 6.5), else of the process that has its PID now. -1: the process has ended, or the kernel
 * has no such descriptors.
 */
static int hello_hold_process(const struct client *client)
{
	int pid_fd = -1;
	socklen_t bytes = sizeof(pid_fd);

	if (getsockopt(client->socket_fd, SOL_SOCKET, SO_PEERPIDFD, &pid_fd, &bytes) == 0)
		return pid_fd;
	return (int)syscall(SYS_pidfd_open, client->pid, 0);
}

/*
 * Opens the session in the device half. A PID proves nothing: the process that connected may have
 * passed the socket on, and then ended or executed a program of another user. So the device half
 * gets the process only for clients of the daemon's own user, because for them the kernel checks
 * the daemon's rights as it would check theirs.
 */
static int hello_open_session(struct ctl_call *call, uint32_t flags)
{
	struct client *client = call->client;
	bool has_fd = (flags & RNIC_HELLO_MEMORY_FD) != 0;
	struct session_config config = {
		.client = client,
		.account = &client->account,
		.client_id = client->client_id,
		.pid = client->pid,
		.memory_fd = -1,
	};
	int result;

	if (has_fd != (call->fd_count == 1))
		return ctl_refuse(call, -EINVAL, "HELLO's flags and descriptors disagree");
	config.pid_fd = client->uid == geteuid() ? hello_hold_process(client) : -1;
	if (has_fd) {
		config.memory_fd = call->fds[0];
		call->fds[0] = -1;
	}
	result = device_half_open_session(client->set->device, &config, call->reply_fds,
					  &client->session);
	if (result == -EINVAL)
		return ctl_refuse(call, result,
				  "the memory descriptor is no /proc/self/mem open for both");
	if (result != 0)
		return ctl_refuse(call, result, "the daemon has no room for a client: %s",
				  strerror(-result));
	call->reply_fd_count = 4;
	return 0;
}

int ctl_hello(struct ctl_call *call)
{
	const struct rnic_ctl_hello *request = (const void *)call->request.payload;
	struct rnic_ctl_hello_reply *reply = (void *)call->reply.payload;
	struct client *client = call->client;
	int result;

	if (request->version_min > RNIC_CTL_VERSION_MAX ||
	    request->version_max < RNIC_CTL_VERSION_MIN)
		return ctl_refuse(
			call, -EPROTONOSUPPORT,
			"the library speaks control versions %u to %u, this daemon %d to %d",
			request->version_min, request->version_max, RNIC_CTL_VERSION_MIN,
			RNIC_CTL_VERSION_MAX);
	if ((request->flags & ~(uint32_t)(RNIC_HELLO_ADMIN | RNIC_HELLO_MEMORY_FD)) != 0)
		return ctl_refuse(call, -EINVAL, "HELLO has flags that are not defined");
	hello_copy_program(client->program, request->program);
	client->is_admin = (request->flags & RNIC_HELLO_ADMIN) != 0;
	if (!client->is_admin) {
		result = hello_open_session(call, request->flags);
		if (result != 0)
			return result;
	}
	client->has_greeted = true;
	list_remove(&client->pre_hello_node);
	reply->version = RNIC_CTL_VERSION_MAX;
	reply->client_id = client->client_id;
	reply->device = client->set->facts->device;
	return 0;
}
