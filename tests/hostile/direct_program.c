/* SPDX-License-Identifier: MIT */
#include "tests/hostile/direct_program.h"

#include "tests/hostile/hostile_link.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS	    20000
#define GID_FDS_MAX (1 + RNIC_LANE_SEND_SOCKETS)

struct letter {
	struct rnic_process_header header;
	uint8_t payload[RNIC_PROCESS_MESSAGE_BYTES];
};

int direct_open(struct direct *direct)
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_DIRECT,
		.program = "direct",
	};
	struct rnic_ctl_hello_reply answer;
	struct hostile_reply reply;

	direct->control_fd = hostile_connect(&rnicd);
	direct->link_fd = -1;
	assert_true(hostile_request(direct->control_fd, RNIC_CTL_HELLO, &hello, sizeof(hello)));
	assert_true(hostile_receive(direct->control_fd, &reply));
	if (reply.header.status == 0) {
		assert_int_equal(reply.fd_count, 1);
		direct->link_fd = reply.fds[0];
		memcpy(&answer, reply.payload, sizeof(answer));
		direct->client_id = answer.client_id;
	}
	return reply.header.status;
}

void direct_close(const struct direct *direct)
{
	if (direct->link_fd >= 0)
		close(direct->link_fd);
	close(direct->control_fd);
}

void direct_say(const struct direct *direct, uint16_t operation, const void *payload,
		uint32_t bytes)
{
	struct letter message = {
		.header =
			{
				.magic = RNIC_PROCESS_MAGIC,
				.version = RNIC_PROCESS_VERSION,
				.operation = operation,
				.bytes = (uint32_t)sizeof(message.header) + bytes,
			},
	};

	memcpy(message.payload, payload, bytes);
	assert_true(hostile_send(direct->link_fd, &message, message.header.bytes, NULL, 0));
}

void direct_serve(struct direct *direct)
{
	static const struct rnic_process_ready ready = {.udp_port = "socket"};

	assert_int_equal(direct_open(direct), 0);
	direct_say(direct, RNIC_PROCESS_READY, &ready, sizeof(ready));
}

void direct_expect_end(const struct direct *direct)
{
	struct pollfd link = {.fd = direct->link_fd, .events = POLLRDHUP};

	assert_int_equal(poll(&link, 1, WAIT_MS), 1);
	assert_true((link.revents & (POLLHUP | POLLRDHUP)) != 0);
}

void direct_expect_unharmed(void)
{
	struct hostile_client client;

	hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
	hostile_expect_owned(&rnicd, 1, 1);
	hostile_client_close(&client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* Receives the next message of the control plane. Returns the number of its descriptors. */
static unsigned direct_receive(const struct direct *direct, struct letter *letter,
			       int fds[GID_FDS_MAX])
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(int) * GID_FDS_MAX)];
	} control;
	struct iovec part = {letter, sizeof(*letter)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct pollfd link = {.fd = direct->link_fd, .events = POLLIN};
	unsigned count = 0;
	ssize_t received;

	assert_int_equal(poll(&link, 1, WAIT_MS), 1);
	received = recvmsg(direct->link_fd, &message, MSG_CMSG_CLOEXEC);
	assert_true(received > 0);
	assert_int_equal(rnic_process_check(letter, (size_t)received), 0);
	if (message.msg_controllen >= CMSG_LEN(sizeof(int))) {
		count = (unsigned)((control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(&control.header), count * sizeof(int));
	}
	return count;
}

/* Takes START: the lane and the statistics page. */
static void take_start(struct lane_program *program)
{
	struct rnic_process_start start;
	struct letter letter;
	int fds[GID_FDS_MAX];
	unsigned count = direct_receive(&program->direct, &letter, fds);

	assert_int_equal(letter.header.operation, RNIC_PROCESS_START);
	assert_int_equal(count, 2);
	memcpy(&start, letter.payload, sizeof(start));
	program->lane = start.lane;
	close(fds[0]);
	program->stats_fd = fds[1];
}

/* Takes the sockets of the first GID that comes. */
static void take_sockets(struct lane_program *program)
{
	struct letter letter;
	int fds[GID_FDS_MAX];
	unsigned count;

	do
		count = direct_receive(&program->direct, &letter, fds);
	while (letter.header.operation != RNIC_PROCESS_GID || count == 0);
	assert_int_equal(count, GID_FDS_MAX);
	program->receive_fd = fds[0];
	for (unsigned i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		program->send_fds[i] = fds[1 + i];
}

void lane_program_open(struct lane_program *program)
{
	direct_serve(&program->direct);
	take_start(program);
	take_sockets(program);
}

void lane_program_close_sockets(const struct lane_program *program)
{
	for (unsigned i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		if (program->send_fds[i] >= 0)
			close(program->send_fds[i]);
	close(program->receive_fd);
	close(program->stats_fd);
}

void lane_program_close(const struct lane_program *program)
{
	lane_program_close_sockets(program);
	direct_close(&program->direct);
}

bool lane_program_has_ports(const struct lane_program *program)
{
	if (program->send_fds[0] >= 0)
		return true;
	printf("skipped: this kernel tells no lanes apart\n");
	return false;
}
