/* SPDX-License-Identifier: MIT */
/*
 * A user's program that holds all connections that the control plane gives to its user, after
 * HELLO, and some channels of the connection manager. It runs under rnic-run.
 *
 * usage: user_holder [programs]
 *
 * Prints "ready CONNECTIONS CHANNELS" once the control plane gives no more, and goes on asking
 * until somebody ends it. With "programs" it holds what the user's programs can have, gives the
 * last connections back, which may only look, and asks for nothing more.
 */
#include "ctl/ctl_message.h"
#include "unit_test.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 100000,
	CHANNELS_MAX = 100,
	REFUSALS = 20, /* in a row: now there is no more */
	VIEWERS = 2,   /* the last connections of a user, which may only look */
	WAIT_S = 10,   /* for a reply */
};

static void take_all_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Receives a reply. A descriptor that comes along stays open: the device connection's end would be
 * that of the client. */
static ssize_t receive(int fd, void *message, size_t bytes)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * RNIC_CTL_FDS_MAX)];
	} control;
	struct iovec part = {message, bytes};
	struct msghdr reply = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	return recvmsg(fd, &reply, MSG_CMSG_CLOEXEC);
}

/* The status of the reply; 1: the connection has ended. */
static int call(int fd, uint16_t operation, const void *payload, size_t bytes)
{
	static union {
		struct rnic_ctl_header header;
		uint8_t bytes[RNIC_CTL_MESSAGE_BYTES];
	} message;

	message.header = (struct rnic_ctl_header){
		.magic = RNIC_CTL_MAGIC,
		.version = operation == RNIC_CTL_HELLO ? 0 : RNIC_CTL_VERSION_MAX,
		.operation = operation,
		.bytes = (uint32_t)(sizeof(message.header) + bytes),
	};
	memcpy(message.bytes + sizeof(message.header), payload, bytes);
	if (send(fd, &message, message.header.bytes, MSG_NOSIGNAL) < 0 ||
	    receive(fd, &message, sizeof(message)) < (ssize_t)sizeof(message.header))
		return 1;
	return message.header.status;
}

/* RNIC_HELLO_ADMIN: a connection without a device is the control plane's alone. -1: turned away. */
static int connect_once(uint32_t flags)
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = flags,
	};
	const struct timeval wait = {.tv_sec = WAIT_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", getenv("RNIC_SOCKET"));
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0 &&
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    call(fd, RNIC_CTL_HELLO, &hello, sizeof(hello)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Takes connections until the daemon gives none. Stores the last ones, the oldest first. */
static unsigned take_connections(int last[VIEWERS])
{
	unsigned count = 0, refusals = 0;

	while (refusals < REFUSALS && count < CONNECTIONS_MAX) {
		const int fd = connect_once(RNIC_HELLO_ADMIN);

		if (fd < 0) {
			refusals++;
			continue;
		}
		memmove(last, last + 1, (VIEWERS - 1) * sizeof(last[0]));
		last[VIEWERS - 1] = fd;
		count++;
		refusals = 0;
	}
	return count;
}

static unsigned take_channels(int fd)
{
	unsigned count = 0;

	while (count < CHANNELS_MAX && call(fd, RNIC_CTL_CM_CREATE_CHANNEL, "", 0) == 0)
		count++;
	return count;
}

int main(int argc, char **argv)
{
	const bool is_quiet = argc > 1 && strcmp(argv[1], "programs") == 0;
	unsigned connections, channels;
	int first, last[VIEWERS] = {-1, -1};

	take_all_descriptors();
	first = connect_once(0);
	connections = take_connections(last);
	channels = take_channels(first);
	printf("ready %u %u\n", connections, channels);
	fflush(stdout);
	for (int i = 0; is_quiet && i < VIEWERS; i++)
		close(last[i]);
	for (;;) {
		if (is_quiet) {
			pause();
			continue;
		}
		connect_once(RNIC_HELLO_ADMIN);
		poll(NULL, 0, 10);
	}
}
