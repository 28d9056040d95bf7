/* SPDX-License-Identifier: MIT */
/* The calls of rsocket.h that make, connect, name and end. */
#include "lib/dropin/rsockets/rsocket_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static int rsocket_calls_refuse(int error)
{
	errno = -error;
	return -1;
}

static int rsocket_calls_result_of(int error)
{
	return error == 0 ? 0 : rsocket_calls_refuse(error);
}

/* Finds the rsocket and takes its lock. NULL: errno says why. */
static struct rnic_rsocket *lock(int socket)
{
	struct rnic_rsocket *rs = rnic_rsocket_get(socket);

	if (rs != NULL)
		rnic_rsocket_lock(rs);
	return rs;
}

static int rsocket_calls_unlock(struct rnic_rsocket *rs, int error)
{
	rnic_rsocket_unlock(rs);
	rnic_rsocket_put(rs);
	return rsocket_calls_result_of(error);
}

static void rsocket_calls_put(void *rs)
{
	rnic_rsocket_put(rs);
}

/* --- making and ending ----------------------------------------------------------------------- */

static int rsocket_calls_create(int domain, int type, int protocol, struct rnic_rsocket **rs)
{
	if (domain != AF_INET && domain != AF_INET6)
		return -EAFNOSUPPORT;
	if (type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP))
		return rnic_rsocket_create_stream(domain, rs);
	if (type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP))
		return rnic_rsocket_create_datagram(domain, rs);
	return -EPROTONOSUPPORT;
}

/* Gives the rsocket to the application. */
static int publish(struct rnic_rsocket *rs)
{
	const int fd = rs->fd;
	int error = rnic_rsocket_enter(rs);

	if (error == 0)
		return fd;
	rs->kind->close(rs);
	rnic_rsocket_put(rs);
	return rsocket_calls_refuse(error);
}

int rsocket(int domain, int type, int protocol)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket *rs;
	int error;

	if (rnic_rsocket_is_interrupted())
		return rsocket_calls_refuse(-EDEADLK);
	rnic_rsocket_locks_begin();
	error = rsocket_calls_create(domain, type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC), protocol, &rs);
	rnic_rsocket_locks_end();
	if (error != 0)
		return rsocket_calls_refuse(error);
	rs->status_flags = type & SOCK_NONBLOCK ? O_NONBLOCK : 0;
	rs->descriptor_flags = type & SOCK_CLOEXEC ? FD_CLOEXEC : 0;
	return publish(rs);
}

int rclose(int socket)
{
	RNIC_RSOCKET_CALL;

	return rsocket_calls_result_of(rnic_rsocket_close(socket));
}

/* --- connecting ------------------------------------------------------------------------------ */

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket *rs = lock(socket);

	return rs == NULL ? -1 : rsocket_calls_unlock(rs, rs->kind->bind(rs, addr, addrlen));
}

int rlisten(int socket, int backlog)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket *rs = lock(socket);

	if (rs == NULL)
		return -1;
	return rsocket_calls_unlock(rs, rs->kind->listen != NULL ? rs->kind->listen(rs, backlog)
								 : -EOPNOTSUPP);
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket *rs = lock(socket);
	int error;

	if (rs == NULL)
		return -1;
	pthread_cleanup_push(rsocket_calls_put, rs);
	error = rs->kind->connect(rs, addr, addrlen);
	pthread_cleanup_pop(false);
	return rsocket_calls_unlock(rs, error);
}

int rshutdown(int socket, int how)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket *rs = lock(socket);

	return rs == NULL ? -1 : rsocket_calls_unlock(rs, rs->kind->shut_down(rs, how));
}

/*
 * Gives an address as the kernel does: copies as much of it as there is room for, none where there
 * is no room, and always tells its full length. A caller that wants only the length passes no
 * address and a length of 0.
 */
static int give_address(const struct sockaddr_storage *address, struct sockaddr *to,
			socklen_t *bytes)
{
	const socklen_t length = address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								: sizeof(struct sockaddr_in);

	if (bytes == NULL)
		return -EFAULT;
	if (*bytes > INT_MAX)
		return -EINVAL;
	if (*bytes > 0 && to == NULL)
		return -EFAULT;
	if (*bytes > 0)
		memcpy(to, address, *bytes < length ? *bytes : length);
	*bytes = length;
	return 0;
}

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket *rs = lock(socket);
	struct rnic_rsocket *accepted;
	struct sockaddr_storage peer;
	int error;

	if (rs == NULL)
		return -1;
	pthread_cleanup_push(rsocket_calls_put, rs);
	error = rs->kind->accept != NULL ? rs->kind->accept(rs, &accepted) : -EOPNOTSUPP;
	pthread_cleanup_pop(false);
	if (rsocket_calls_unlock(rs, error) != 0)
		return -1;
	if (addr != NULL && addrlen != NULL && accepted->kind->name(accepted, true, &peer) == 0)
		give_address(&peer, addr, addrlen);
	return publish(accepted);
}

/* --- names and flags ------------------------------------------------------------------------- */

static int give_name(int socket, bool is_peer, struct sockaddr *addr, socklen_t *addrlen)
{
	RNIC_RSOCKET_CALL;
	struct sockaddr_storage address = {0};
	struct rnic_rsocket *rs;
	int error;

	rs = lock(socket);
	if (rs == NULL)
		return -1;
	error = rs->kind->name(rs, is_peer, &address);
	if (error == 0)
		error = give_address(&address, addr, addrlen);
	return rsocket_calls_unlock(rs, error);
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return give_name(socket, true, addr, addrlen);
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return give_name(socket, false, addr, addrlen);
}

int rfcntl(int socket, int cmd, ...)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket *rs = lock(socket);
	int result = 0, error = 0, flags = 0;

	if (rs == NULL)
		return -1;
	if (cmd == F_SETFL || cmd == F_SETFD) {
		va_list arguments;

		va_start(arguments, cmd);
		flags = va_arg(arguments, int);
		va_end(arguments);
	}
	switch (cmd) {
	case F_GETFL:
		result = O_RDWR | rs->status_flags;
		break;
	case F_SETFL:
		rs->status_flags = flags & (O_NONBLOCK | O_APPEND | O_ASYNC);
		break;
	case F_GETFD:
		result = rs->descriptor_flags;
		break;
	case F_SETFD:
		rs->descriptor_flags = flags & FD_CLOEXEC;
		break;
	default:
		error = -EINVAL;
		break;
	}
	return rsocket_calls_unlock(rs, error) == 0 ? result : -1;
}
