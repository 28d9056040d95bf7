/* SPDX-License-Identifier: MIT */
/*
 * librnic-view.so: the C library's functions of sockets, for the sockets of NETLINK_RDMA that
 * netlink_socket.h makes. Every other socket goes to the next library's function, after one load.
 * A socket that a program keeps through exec() is an ordinary Unix socket afterwards.
 */
#include "lib/dropin/view/netlink/netlink_socket.h"
#include "lib/dropin/view/view_next.h"

#include <errno.h>
#include <limits.h>
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

/* The size of the queue and the priority are netlink_socket.c's choice. */
VIEW_API int setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
	if (!netlink_socket_is(fd))
		return NEXT(setsockopt)(fd, level, name, value, bytes);
	if (level == SOL_NETLINK)
		return netlink_socket_set_option(fd, name, value, bytes);
	if (level == SOL_SOCKET &&
	    (name == SO_SNDBUF || name == SO_SNDBUFFORCE || name == SO_PRIORITY))
		return 0;
	return NEXT(setsockopt)(fd, level, name, value, bytes);
}

/* Finds an option of SOL_SOCKET whose value the program must not get from the Unix socket. */
static bool find_known_option(int name, int *known)
{
	switch (name) {
	case SO_DOMAIN:
		*known = AF_NETLINK;
		return true;
	case SO_PROTOCOL:
		*known = NETLINK_RDMA;
		return true;
	case SO_TYPE:
		*known = SOCK_RAW;
		return true;
	case SO_PRIORITY:
		*known = 0;
		return true;
	default:
		return false;
	}
}

VIEW_API int getsockopt(int fd, int level, int name, void *value, socklen_t *bytes)
{
	int known;

	if (!netlink_socket_is(fd))
		return NEXT(getsockopt)(fd, level, name, value, bytes);
	if (level == SOL_NETLINK) {
		if (netlink_socket_get_option(fd, name, &known) < 0)
			return -1;
	} else if (level != SOL_SOCKET || !find_known_option(name, &known)) {
		return NEXT(getsockopt)(fd, level, name, value, bytes);
	}
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

/* Not inline: no other socket's call pays for the room on the stack. */
static __attribute__((noinline)) ssize_t answer_joined(int fd, const struct iovec *pieces,
						       size_t count)
{
	_Alignas(8) char joined[NETLINK_REQUEST_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (pieces[i].iov_len > sizeof(joined) - used) {
			errno = EMSGSIZE;
			return -1;
		}
		if (pieces[i].iov_len > 0)
			memcpy(joined + used, pieces[i].iov_base, pieces[i].iov_len);
		used += pieces[i].iov_len;
	}
	return netlink_socket_answer(fd, joined, used);
}

static ssize_t answer_pieces(int fd, const struct iovec *pieces, size_t count)
{
	return count == 1 ? netlink_socket_answer(fd, pieces[0].iov_base, pieces[0].iov_len)
			  : answer_joined(fd, pieces, count);
}

VIEW_API ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return netlink_socket_is(fd) ? answer_pieces(fd, message->msg_iov, message->msg_iovlen)
				     : NEXT(sendmsg)(fd, message, flags);
}

VIEW_API ssize_t writev(int fd, const struct iovec *pieces, int count)
{
	return count >= 0 && netlink_socket_is(fd) ? answer_pieces(fd, pieces, (size_t)count)
						   : NEXT(writev)(fd, pieces, count);
}

VIEW_API int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	unsigned sent = 0;

	if (!netlink_socket_is(fd))
		return NEXT(sendmmsg)(fd, messages, count, flags);
	for (; sent < count && sent < INT_MAX; sent++) {
		const struct msghdr *message = &messages[sent].msg_hdr;
		const ssize_t bytes = answer_pieces(fd, message->msg_iov, message->msg_iovlen);

		if (bytes < 0)
			return sent > 0 ? (int)sent : -1;
		messages[sent].msg_len = (unsigned)bytes;
	}
	return (int)sent;
}

/* ---- receiving ---- */

VIEW_API ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	return netlink_socket_is(fd) ? netlink_socket_receive(fd, message, flags)
				     : NEXT(recvmsg)(fd, message, flags);
}

/* With a time limit, what has come is enough: the kernel too looks at the clock only then. */
VIEW_API int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
		      struct timespec *limit)
{
	const bool is_first_enough = (flags & MSG_WAITFORONE) != 0 || limit != NULL;
	int wait = flags & ~MSG_WAITFORONE;
	unsigned received = 0;

	if (!netlink_socket_is(fd))
		return NEXT(recvmmsg)(fd, messages, count, flags, limit);
	for (; received < count && received < INT_MAX; received++) {
		const ssize_t bytes = netlink_socket_receive(fd, &messages[received].msg_hdr, wait);

		if (bytes < 0)
			return received > 0 ? (int)received : -1;
		messages[received].msg_len = (unsigned)bytes;
		wait |= is_first_enough ? MSG_DONTWAIT : 0;
	}
	return (int)received;
}

/* Receives into one piece. `from` and `from_bytes` may be anything, or NULL, as of recvfrom(). */
static ssize_t receive_piece(int fd, void *data, size_t bytes, int flags, struct sockaddr *from,
			     socklen_t *from_bytes)
{
	const bool has_name = from != NULL && from_bytes != NULL;
	struct iovec piece = {.iov_base = data, .iov_len = bytes};
	struct msghdr message = {
		.msg_name = has_name ? from : NULL,
		.msg_namelen = has_name ? *from_bytes : 0,
		.msg_iov = &piece,
		.msg_iovlen = 1,
	};
	const ssize_t received = netlink_socket_receive(fd, &message, flags);

	if (received >= 0 && has_name)
		*from_bytes = message.msg_namelen;
	return received;
}

VIEW_API ssize_t recvfrom(int fd, void *data, size_t bytes, int flags, struct sockaddr *from,
			  socklen_t *from_bytes)
{
	return netlink_socket_is(fd) ? receive_piece(fd, data, bytes, flags, from, from_bytes)
				     : NEXT(recvfrom)(fd, data, bytes, flags, from, from_bytes);
}

VIEW_API ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
	return netlink_socket_is(fd) ? receive_piece(fd, data, bytes, flags, NULL, NULL)
				     : NEXT(recv)(fd, data, bytes, flags);
}

VIEW_API ssize_t read(int fd, void *data, size_t bytes)
{
	return netlink_socket_is(fd) ? receive_piece(fd, data, bytes, 0, NULL, NULL)
				     : NEXT(read)(fd, data, bytes);
}

VIEW_API ssize_t readv(int fd, const struct iovec *pieces, int count)
{
	struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)count};

	return count >= 0 && netlink_socket_is(fd) ? netlink_socket_receive(fd, &message, 0)
						   : NEXT(readv)(fd, pieces, count);
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
