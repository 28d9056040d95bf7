/* SPDX-License-Identifier: MIT */
#include "tests/hostile/users/control_caller.h"

#include "proto/ctl/ctl_message.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_MS 10000 /* for a reply */

union control_message {
	struct rnic_ctl_header header;
	uint8_t bytes[RNIC_CTL_MESSAGE_BYTES];
};

int control_caller_connect(int type_flags)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | type_flags, 0);
	int error;

	if (fd < 0)
		return -1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", getenv("RNIC_SOCKET"));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

int control_caller_open(int type_flags, uint32_t flags)
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = flags,
	};
	int fd = control_caller_connect(type_flags);

	if (fd < 0)
		return -1;
	control_caller_say(fd, RNIC_CTL_HELLO, &hello, sizeof(hello));
	if (control_caller_hear(fd) == 0)
		return fd;
	close(fd);
	return -1;
}

void control_caller_say(int fd, uint16_t operation, const void *payload, size_t bytes)
{
	static union control_message message;

	message.header = (struct rnic_ctl_header){
		.magic = RNIC_CTL_MAGIC,
		.version = operation == RNIC_CTL_HELLO ? 0 : RNIC_CTL_VERSION_MAX,
		.operation = operation,
		.bytes = (uint32_t)(sizeof(message.header) + bytes),
	};
	memcpy(message.bytes + sizeof(message.header), payload, bytes);
	send(fd, &message, message.header.bytes, MSG_NOSIGNAL);
}

int control_caller_hear_answer(int fd, void *answer, size_t answer_bytes)
{
	static union control_message message;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * RNIC_CTL_FDS_MAX)];
	} control;
	struct iovec part = {&message, sizeof(message)};
	struct msghdr reply = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct pollfd event = {.fd = fd, .events = POLLIN};

	if (poll(&event, 1, WAIT_MS) <= 0 ||
	    recvmsg(fd, &reply, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < (ssize_t)sizeof(message.header))
		return CONTROL_CALLER_NO_REPLY;
	if (message.header.status == 0 && answer_bytes > 0)
		memcpy(answer, message.bytes + sizeof(message.header), answer_bytes);
	return message.header.status;
}

int control_caller_hear(int fd)
{
	return control_caller_hear_answer(fd, NULL, 0);
}
