/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/client/native/fake_daemon.h"

#include "proto/ctl/ctl_check.h"
#include "proto/ctl/ctl_message.h"
#include "proto/shm/region.h"
#include "tests/unit/unit_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TRIES 2 /* of a client that is hung up on */

struct fake_message {
	struct rnic_ctl_header header;
	union {
		uint8_t bytes[1024];
		struct rnic_ctl_hello_reply hello;
		struct rnic_ctl_open_device_reply open_device;
		struct rnic_ctl_refusal refusal;
	} payload;
};

union fake_control {
	struct cmsghdr header;
	uint8_t bytes[CMSG_SPACE(sizeof(int) * RNIC_CTL_FDS_MAX)];
};

/* Receives a well-formed request and closes its descriptors; returns how many there were. */
static unsigned receive_request(int fd, uint16_t operation, struct fake_message *message)
{
	union fake_control control;
	struct iovec part = {message, sizeof(*message)};
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	unsigned fd_count = 0;
	int fds[RNIC_CTL_FDS_MAX];
	ssize_t received = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);

	assert_true(received >= (ssize_t)sizeof(message->header));
	if (header.msg_controllen >= CMSG_LEN(sizeof(int)))
		fd_count = (unsigned)((control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds, CMSG_DATA(&control.header), fd_count * sizeof(int));
	for (unsigned i = 0; i < fd_count; i++)
		close(fds[i]);
	assert_int_equal(message->header.operation, operation);
	assert_int_equal(rnic_ctl_check_request(message, (size_t)received, fd_count), 0);
	return fd_count;
}

/* Sends the reply with its descriptors and closes these. */
static void send_reply(int fd, struct fake_message *message, size_t payload_bytes, const int *fds,
		       unsigned fd_count)
{
	union fake_control control = {.bytes = {0}};
	struct iovec part = {message, sizeof(message->header) + payload_bytes};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	message->header.version = RNIC_CTL_VERSION_MAX;
	message->header.bytes = (uint32_t)part.iov_len;
	if (fd_count > 0) {
		control.header.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.header), fds, fd_count * sizeof(int));
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &header, MSG_NOSIGNAL), part.iov_len);
	for (unsigned i = 0; i < fd_count; i++)
		close(fds[i]);
}

static void send_refusal(int fd, struct fake_message *message, int32_t status, const char *reason)
{
	message->header.status = status;
	memset(&message->payload.refusal, 0, sizeof(message->payload.refusal));
	snprintf(message->payload.refusal.reason, sizeof(message->payload.refusal.reason), "%s",
		 reason);
	send_reply(fd, message, sizeof(message->payload.refusal), NULL, 0);
}

static int make_region(const struct fake_daemon *daemon, uint16_t kind, size_t bytes)
{
	const struct rnic_region_header header = {
		.magic = RNIC_REGION_MAGIC,
		.version = (uint16_t)(RNIC_SHM_VERSION + daemon->shm_version_step),
		.kind = kind,
		.bytes = bytes,
	};
	int fd = memfd_create("region", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	return fd;
}

static void answer_open_device(struct fake_daemon *daemon, struct fake_message *message)
{
	int fds[4], events[2];

	assert_int_equal(pipe(events), 0);
	daemon->events = events[1];
	fds[0] = make_region(daemon, RNIC_REGION_SESSION, sizeof(struct rnic_session_region));
	fds[1] = make_region(daemon, RNIC_REGION_STATUS, sizeof(struct rnic_status_region));
	fds[2] = eventfd(0, EFD_CLOEXEC);
	fds[3] = events[0];
	memset(&message->payload.open_device, 0, sizeof(message->payload.open_device));
	send_reply(daemon->device, message, sizeof(message->payload.open_device), fds,
		   COUNT_OF(fds));
}

/* Answers OPEN_DEVICE. Returns false after a hang-up. */
static bool serve_device(struct fake_daemon *daemon, struct fake_message *message)
{
	daemon->open_fds = receive_request(daemon->device, RNIC_CTL_OPEN_DEVICE, message);
	if (daemon->hang_ups > 0) {
		daemon->hang_ups--;
		shutdown(daemon->device, SHUT_RDWR);
		return false;
	}
	if (daemon->open_status != 0)
		send_refusal(daemon->device, message, daemon->open_status,
			     "OPEN_DEVICE is refused");
	else
		answer_open_device(daemon, message);
	return true;
}

static bool serve_client(struct fake_daemon *daemon)
{
	struct fake_message message;
	int ends[2];

	daemon->control = accept(daemon->listening, NULL, NULL);
	assert_true(daemon->control >= 0);
	daemon->hello_fds = receive_request(daemon->control, RNIC_CTL_HELLO, &message);
	if (daemon->hello_status != 0) {
		send_refusal(daemon->control, &message, daemon->hello_status, "HELLO is refused");
		return true;
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	daemon->device = ends[0];
	memset(&message.payload.hello, 0, sizeof(message.payload.hello));
	send_reply(daemon->control, &message, sizeof(message.payload.hello), &ends[1], 1);
	return serve_device(daemon, &message);
}

static void *serve(void *argument)
{
	struct fake_daemon *daemon = argument;

	for (int tries = TRIES; !serve_client(daemon) && --tries > 0;) {
		close(daemon->control);
		close(daemon->device);
	}
	return NULL;
}

void fake_daemon_start(struct fake_daemon *daemon)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	daemon->control = daemon->device = daemon->events = -1;
	snprintf(daemon->path, sizeof(daemon->path), "/tmp/rnic-fake-daemon-%d.sock",
		 (int)getpid());
	memcpy(address.sun_path, daemon->path, sizeof(daemon->path));
	daemon->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(daemon->listening, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(daemon->listening, 1), 0);
	assert_int_equal(pthread_create(&daemon->thread, NULL, serve, daemon), 0);
}

void fake_daemon_join(struct fake_daemon *daemon)
{
	assert_int_equal(pthread_join(daemon->thread, NULL), 0);
}

void fake_daemon_stop(struct fake_daemon *daemon)
{
	const int fds[] = {daemon->listening, daemon->control, daemon->device, daemon->events};

	for (unsigned i = 0; i < COUNT_OF(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	unlink(daemon->path);
}
