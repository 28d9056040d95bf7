/* SPDX-License-Identifier: MIT */
#include "control/ctl_handlers.h"

#include "device/session/session.h"
#include "device/session/session_set.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.5; absent from the headers of older C libraries. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* A client's name for itself, fit for a log line or a terminal. */
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
 * A descriptor of the process that connected, as the kernel knows it since then (Linux 6.5), else
 * of the one that has its number now. -1: it has ended, or the kernel has no such descriptors.
 */
static int hello_hold_process(const struct session *session)
{
	int pid_fd = -1;
	socklen_t bytes = sizeof(pid_fd);

	if (getsockopt(session->socket_fd, SOL_SOCKET, SO_PEERPIDFD, &pid_fd, &bytes) == 0)
		return pid_fd;
	return (int)syscall(SYS_pidfd_open, session->pid, 0);
}

/*
 * The way to the client's memory. Neither way being open is no error until it registers such
 * memory.
 *
 * A process number proves nothing: who connected may have passed the socket on, and then have ended
 * or executed a program of another user. So process_vm is for clients of our own user only, for
 * whom the kernel checks our rights as if it were theirs.
 */
static int hello_open_process(struct ctl_call *call, uint32_t flags)
{
	struct session *session = call->session;
	bool has_fd = (flags & RNIC_HELLO_MEMORY_FD) != 0;
	int pid_fd, result;

	if (has_fd != (call->fd_count == 1))
		return ctl_refuse(call, -EINVAL, "HELLO's flags and descriptors disagree");
	pid_fd = session->uid == geteuid() ? hello_hold_process(session) : -1;
	result = remote_process_init(&session->process, session->pid, pid_fd,
				     has_fd ? call->fds[0] : -1);
	if (result != 0 && pid_fd >= 0)
		close(pid_fd);
	if (result == -EINVAL)
		return ctl_refuse(call, -EINVAL,
				  "the memory descriptor is no /proc/self/mem open for both");
	session->has_process = result == 0;
	if (session->has_process && has_fd)
		call->fds[0] = -1;
	return 0;
}

int ctl_hello(struct ctl_call *call)
{
	const struct rnic_ctl_hello *request = (const void *)call->request.payload;
	struct rnic_ctl_hello_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct session_set *set = session->set;
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
	hello_copy_program(session->program, request->program);
	session->is_admin = (request->flags & RNIC_HELLO_ADMIN) != 0;
	if (!session->is_admin) {
		result = hello_open_process(call, request->flags);
		if (result != 0)
			return result;
		result = session_open_regions(session, call->reply_fds);
		if (result != 0) {
			if (session->has_process)
				remote_process_fini(&session->process);
			session->has_process = false;
			return ctl_refuse(call, result, "the daemon has no room for a client: %s",
					  strerror(-result));
		}
		call->reply_fd_count = 4;
	}
	session->has_greeted = true;
	list_remove(&session->pre_hello_node);
	reply->version = RNIC_CTL_VERSION_MAX;
	reply->client_id = session->client_id;
	reply->device = set->facts->device;
	return 0;
}

int ctl_query_port(struct ctl_call *call)
{
	memcpy(call->reply.payload, &call->session->set->facts->port,
	       sizeof(struct rnic_ctl_port_reply));
	return 0;
}

int ctl_query_gids(struct ctl_call *call)
{
	memcpy(call->reply.payload, &call->session->set->facts->gids,
	       sizeof(struct rnic_ctl_gids_reply));
	return 0;
}

int ctl_query_pkeys(struct ctl_call *call)
{
	memcpy(call->reply.payload, &call->session->set->facts->pkeys,
	       sizeof(struct rnic_ctl_pkeys_reply));
	return 0;
}
