/* SPDX-License-Identifier: MIT */
/*
 * The calls of rsocket.h that send and receive: all of them pass a message to one of two functions.
 */
#include "lib/dropin/rsockets/rsocket_objects.h"

#include <errno.h>

static ssize_t rsocket_message_refuse(int error)
{
	errno = error;
	return -1;
}

/*
 * A call that succeeds leaves errno as `before`. Programs such as rstream check errno after 0 bytes
 * too, and read again for EAGAIN: that of an empty event queue would keep them there for ever.
 */
static ssize_t rsocket_message_end(ssize_t result, int before)
{
	if (result < 0)
		return rsocket_message_refuse((int)-result);
	errno = before;
	return result;
}

static void rsocket_message_put(void *rs)
{
	rnic_rsocket_put(rs);
}

static ssize_t send_message(int socket, const struct msghdr *message, int flags)
{
	RNIC_RSOCKET_CALL;
	const int before = errno;
	struct rnic_rsocket *rs = rnic_rsocket_get(socket);
	ssize_t result;

	if (rs == NULL)
		return -1;
	pthread_cleanup_push(rsocket_message_put, rs);
	result = rs->kind->send(rs, message, flags);
	pthread_cleanup_pop(true);
	return rsocket_message_end(result, before);
}

static ssize_t receive_message(int socket, struct msghdr *message, int flags)
{
	RNIC_RSOCKET_CALL;
	const int before = errno;
	struct rnic_rsocket *rs = rnic_rsocket_get(socket);
	ssize_t result;

	if (rs == NULL)
		return -1;
	pthread_cleanup_push(rsocket_message_put, rs);
	result = rs->kind->receive(rs, message, flags);
	pthread_cleanup_pop(true);
	return rsocket_message_end(result, before);
}

/* ---- sending ---- */

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (msg->msg_control != NULL && msg->msg_controllen > 0)
		return rsocket_message_refuse(EOPNOTSUPP);
	return send_message(socket, msg, flags);
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec piece = {.iov_base = (void *)buf, .iov_len = len};
	const struct msghdr message = {
		.msg_name = (void *)dest_addr,
		.msg_namelen = addrlen,
		.msg_iov = &piece,
		.msg_iovlen = 1,
	};

	return send_message(socket, &message, flags);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return rsendto(socket, buf, len, flags, NULL, 0);
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsendto(socket, buf, count, 0, NULL, 0);
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	const struct msghdr message = {
		.msg_iov = (struct iovec *)iov,
		.msg_iovlen = (size_t)iovcnt,
	};

	return iovcnt < 0 ? rsocket_message_refuse(EINVAL) : send_message(socket, &message, 0);
}

/* ---- receiving ---- */

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	return receive_message(socket, msg, flags);
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr,
		  socklen_t *addrlen)
{
	struct iovec piece = {.iov_base = buf, .iov_len = len};
	struct msghdr message = {
		.msg_name = src_addr,
		.msg_namelen = src_addr != NULL && addrlen != NULL ? *addrlen : 0,
		.msg_iov = &piece,
		.msg_iovlen = 1,
	};
	const ssize_t result = receive_message(socket, &message, flags);

	if (result >= 0 && src_addr != NULL && addrlen != NULL)
		*addrlen = message.msg_namelen;
	return result;
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	return rrecvfrom(socket, buf, len, flags, NULL, NULL);
}

ssize_t rread(int socket, void *buf, size_t count)
{
	return rrecvfrom(socket, buf, count, 0, NULL, NULL);
}

ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	struct msghdr message = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)iovcnt};

	return iovcnt < 0 ? rsocket_message_refuse(EINVAL) : receive_message(socket, &message, 0);
}
