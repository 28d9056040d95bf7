/* SPDX-License-Identifier: MIT */
/*
 * librnic-view.so: the C library's functions of sockets, for the sockets of NETLINK_RDMA that
 * netlink_socket.h makes. Every other socket goes to the next library's function, after one load.
 * A socket that a program keeps through exec() is an ordinary Unix socket afterwards.
 */
#include "view/netlink/netlink_socket.h"
#include "view/view_next.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define NETLINK_REQUEST_BYTES 4096 /* in pieces: no program's request comes near */

/* ---- making and naming ---- */

VIEW_API int socket(int domain, int type, int protocol)
{
	return netlink_socket_is_wanted(domain, type, protocol)
		       ? netlink_socket_make(type)
		       : NEXT(socket)(domain, type, protocol);
}

VIEW_API int bind(int fd, const struct sockaddr *address, socklen_t bytes)
{
	return netlink_socket_is(fd) ? netlink_socket_bind(fd, address, bytes)
				     : NEXT(bind)(fd, address, bytes);
}

/* Programs connect to the kernel, to which the socket leads anyway. */
VIEW_API int connect(int fd, const struct sockaddr *address, socklen_t bytes)
{
	if (!netlink_socket_is(fd))
		return NEXT(connect)(fd, address, bytes);
	if (address != NULL && bytes >= sizeof(struct sockaddr_nl) &&
	    address->sa_family == AF_NETLINK)
		return 0;
	errno = EINVAL;
	return -1;
}

VIEW_API int getsockname(int fd, struct sockaddr *address, socklen_t *bytes)
{
	return netlink_socket_is(fd) ? netlink_socket_name(fd, false, address, bytes)
				     : NEXT(getsockname)(fd, address, bytes);
}

VIEW_API int getpeername(int fd, struct sockaddr *address, socklen_t *bytes)
{
	return netlink_socket_is(fd) ? netlink_socket_name(fd, true, address, bytes)
				     : NEXT(getpeername)(fd, address, bytes);
}

/* ---- options ---- */

/* Groups have no news here. The size of the queue is netlink_socket.c's choice. */
VIEW_API int setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
	if (!netlink_socket_is(fd))
		return NEXT(setsockopt)(fd, level, name, value, bytes);
	if (level == SOL_NETLINK && name == NETLINK_ADD_MEMBERSHIP) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (level == SOL_NETLINK ||
	    (level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_SNDBUFFORCE)))
		return 0;
	return NEXT(setsockopt)(fd, level, name, value, bytes);
}

VIEW_API int getsockopt(int fd, int level, int name, void *value, socklen_t *bytes)
{
	int known;

	if (!netlink_socket_is(fd))
		return NEXT(getsockopt)(fd, level, name, value, bytes);
	if (level == SOL_SOCKET && name == SO_DOMAIN)
		known = AF_NETLINK;
	else if (level == SOL_SOCKET && name == SO_PROTOCOL)
		known = NETLINK_RDMA;
	else if (level == SOL_SOCKET && name == SO_TYPE)
		known = SOCK_RAW;
	else
		return NEXT(getsockopt)(fd, level, name, value, bytes);
	if (value == NULL || bytes == NULL || *bytes < sizeof(known)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(value, &known, sizeof(known));
	*bytes = sizeof(known);
	return 0;
}

/* ---- sending ---- */

VIEW_API ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
	return netlink_socket_is(fd) ? netlink_socket_answer(fd, data, bytes)
				     : NEXT(send)(fd, data, bytes, flags);
}

VIEW_API ssize_t sendto(int fd, const void *data, size_t bytes, int flags,
			const struct sockaddr *to, socklen_t to_bytes)
{
	return netlink_socket_is(fd) ? netlink_socket_answer(fd, data, bytes)
				     : NEXT(sendto)(fd, data, bytes, flags, to, to_bytes);
}

VIEW_API ssize_t write(int fd, const void *data, size_t bytes)
{
	return netlink_socket_is(fd) ? netlink_socket_answer(fd, data, bytes)
				     : NEXT(write)(fd, data, bytes);
}

VIEW_API ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	_Alignas(8) char joined[NETLINK_REQUEST_BYTES];
	size_t used = 0;

	if (!netlink_socket_is(fd))
		return NEXT(sendmsg)(fd, message, flags);
	if (message->msg_iovlen == 1)
		return netlink_socket_answer(fd, message->msg_iov[0].iov_base,
					     message->msg_iov[0].iov_len);
	for (size_t i = 0; i < message->msg_iovlen; i++) {
		if (message->msg_iov[i].iov_len > sizeof(joined) - used) {
			errno = EMSGSIZE;
			return -1;
		}
		memcpy(joined + used, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
		used += message->msg_iov[i].iov_len;
	}
	return netlink_socket_answer(fd, joined, used);
}

/* ---- receiving ---- */

VIEW_API ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	socklen_t room;
	ssize_t bytes;

	if (!netlink_socket_is(fd))
		return NEXT(recvmsg)(fd, message, flags);
	if (netlink_socket_await(fd, flags) < 0)
		return -1;
	room = message->msg_namelen;
	bytes = NEXT(recvmsg)(fd, message, flags);
	if (bytes >= 0 && message->msg_name != NULL) {
		netlink_socket_sender(message->msg_name, &room);
		message->msg_namelen = room;
	}
	return bytes;
}

VIEW_API ssize_t recvfrom(int fd, void *data, size_t bytes, int flags, struct sockaddr *from,
			  socklen_t *from_bytes)
{
	const socklen_t room = from_bytes != NULL ? *from_bytes : 0;
	ssize_t received;

	if (!netlink_socket_is(fd))
		return NEXT(recvfrom)(fd, data, bytes, flags, from, from_bytes);
	if (netlink_socket_await(fd, flags) < 0)
		return -1;
	received = NEXT(recvfrom)(fd, data, bytes, flags, from, from_bytes);
	if (received >= 0 && from != NULL && from_bytes != NULL) {
		*from_bytes = room;
		netlink_socket_sender(from, from_bytes);
	}
	return received;
}

VIEW_API ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
	if (netlink_socket_is(fd) && netlink_socket_await(fd, flags) < 0)
		return -1;
	return NEXT(recv)(fd, data, bytes, flags);
}

VIEW_API ssize_t read(int fd, void *data, size_t bytes)
{
	if (netlink_socket_is(fd) && netlink_socket_await(fd, 0) < 0)
		return -1;
	return NEXT(read)(fd, data, bytes);
}

/* The names in programs that are built with _FORTIFY_SOURCE, which check the room first. */
ssize_t __recv_chk(int fd, void *data, size_t bytes, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *data, size_t bytes, size_t room, int flags,
		       struct sockaddr *from, socklen_t *from_bytes);
ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room);

VIEW_API ssize_t __recv_chk(int fd, void *data, size_t bytes, size_t room, int flags)
{
	return bytes <= room && netlink_socket_is(fd)
		       ? recv(fd, data, bytes, flags)
		       : NEXT(__recv_chk)(fd, data, bytes, room, flags);
}

VIEW_API ssize_t __recvfrom_chk(int fd, void *data, size_t bytes, size_t room, int flags,
				struct sockaddr *from, socklen_t *from_bytes)
{
	return bytes <= room && netlink_socket_is(fd)
		       ? recvfrom(fd, data, bytes, flags, from, from_bytes)
		       : NEXT(__recvfrom_chk)(fd, data, bytes, room, flags, from, from_bytes);
}

VIEW_API ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room)
{
	return bytes <= room && netlink_socket_is(fd) ? read(fd, data, bytes)
						      : NEXT(__read_chk)(fd, data, bytes, room);
}
