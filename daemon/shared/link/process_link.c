/* SPDX-License-Identifier: MIT */
#include "daemon/shared/link/process_link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define LINK_CONTROL_BYTES CMSG_SPACE(RNIC_PROCESS_FDS_MAX * sizeof(int))
/*
 * Some batches of misrouted packets, which come at once. The kernel cuts it to its limit (wmem_max)
 * and counts what it needs to keep the messages, too.
 */
#define LINK_SEND_BYTES (512 << 10)
/* The padding of a control message may have room for another descriptor. */
#define LINK_FDS_MAX (LINK_CONTROL_BYTES / sizeof(int))

int process_link_open(int fds[2])
{
	const int bytes = LINK_SEND_BYTES;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return 0;
}

/*
 * Returns what an errno means for the link. ETOOMANYREFS: too many of this user's descriptors are
 * on their way; they arrive when the readers go on. Memory that is short now is no fault of the
 * other end.
 */
static int link_error(int number)
{
	switch (number) {
	case EWOULDBLOCK:
	case EINTR:
	case ETOOMANYREFS:
	case ENOBUFS:
	case ENOMEM:
		return -EAGAIN;
	case ECONNRESET:
	case ENOTCONN:
		return -EPIPE;
	default:
		return -number;
	}
}

int process_link_send(int link_fd, const struct process_letter *letter)
{
	const struct rnic_process_header header = {
		.magic = RNIC_PROCESS_MAGIC,
		.version = RNIC_PROCESS_VERSION,
		.operation = letter->operation,
		.bytes = (uint32_t)(sizeof(header) + letter->payload_bytes + letter->tail_bytes),
	};
	_Alignas(struct cmsghdr) uint8_t control[LINK_CONTROL_BYTES] = {0};
	struct iovec parts[] = {
		{.iov_base = (void *)&header, .iov_len = sizeof(header)},
		{.iov_base = (void *)letter->payload, .iov_len = letter->payload_bytes},
		{.iov_base = (void *)letter->tail, .iov_len = letter->tail_bytes},
	};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};

	if (letter->payload_bytes > PROCESS_PAYLOAD_BYTES_MAX ||
	    letter->tail_bytes > PROCESS_PAYLOAD_BYTES_MAX - letter->payload_bytes ||
	    letter->fd_count > RNIC_PROCESS_FDS_MAX)
		return -EMSGSIZE;
	if (letter->fd_count > 0) {
		struct cmsghdr *descriptors = (void *)control;

		descriptors->cmsg_level = SOL_SOCKET;
		descriptors->cmsg_type = SCM_RIGHTS;
		descriptors->cmsg_len = CMSG_LEN(letter->fd_count * sizeof(int));
		memcpy(CMSG_DATA(descriptors), letter->fds, letter->fd_count * sizeof(int));
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(letter->fd_count * sizeof(int));
	}
	return sendmsg(link_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ? 0 : link_error(errno);
}

static void link_close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void process_receipt_drop(struct process_receipt *receipt)
{
	link_close_all(receipt->fds, receipt->fd_count);
	receipt->fd_count = 0;
}

/* Takes the descriptors out of a received message. -EPROTO: too many came, and all are closed. */
static int link_take_fds(struct msghdr *message, struct process_receipt *receipt)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
	     part = CMSG_NXTHDR(message, part)) {
		const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fds[LINK_FDS_MAX];

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
		    count > LINK_FDS_MAX)
			continue;
		memcpy(fds, CMSG_DATA(part), count * sizeof(int));
		if (count > RNIC_PROCESS_FDS_MAX - receipt->fd_count) {
			link_close_all(fds, count);
			return -EPROTO;
		}
		memcpy(receipt->fds + receipt->fd_count, fds, count * sizeof(int));
		receipt->fd_count += (unsigned)count;
	}
	if ((message->msg_flags & MSG_TRUNC) != 0)
		return -EPROTO;
	/* A process that can open no more descriptors gets a part of them, which is of no use. */
	if ((message->msg_flags & MSG_CTRUNC) != 0)
		process_receipt_drop(receipt);
	return (message->msg_flags & MSG_CTRUNC) == 0 || message->msg_control != NULL ? 0 : -EPROTO;
}

/* Receives, or with MSG_PEEK looks at, the next message. */
static int link_receive(int link_fd, struct process_receipt *receipt, void *control,
			size_t control_bytes, int flags)
{
	struct iovec parts[] = {
		{.iov_base = &receipt->header, .iov_len = sizeof(receipt->header)},
		{.iov_base = receipt->payload, .iov_len = sizeof(receipt->payload)},
	};
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = control,
		.msg_controllen = control_bytes,
	};
	ssize_t received;
	int result;

	receipt->fd_count = 0;
	received = recvmsg(link_fd, &message, flags | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (received < 0)
		return link_error(errno);
	result = link_take_fds(&message, receipt);
	if (received == 0 && result == 0)
		result = -EPIPE;
	if (result == 0)
		result = rnic_process_check(receipt, (size_t)received);
	if (result != 0)
		process_receipt_drop(receipt);
	return result;
}

/* rnic_process_check() reads the message where the two parts of a receipt put it. */
_Static_assert(offsetof(struct process_receipt, payload) == sizeof(struct rnic_process_header),
	       "header and payload follow each other");

int process_link_receive(int link_fd, struct process_receipt *receipt)
{
	_Alignas(struct cmsghdr) uint8_t control[LINK_CONTROL_BYTES];

	return link_receive(link_fd, receipt, control, sizeof(control), 0);
}

int process_link_receive_plain(int link_fd, struct process_receipt *receipt)
{
	int result = link_receive(link_fd, receipt, NULL, 0, MSG_PEEK);

	if (result == 0)
		recv(link_fd, NULL, 0, MSG_DONTWAIT); /* removes what was looked at */
	return result;
}
