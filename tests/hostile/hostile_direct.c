/* SPDX-License-Identifier: MIT */
/*
 * Programs that ask to be their own device processes, and then lie, die or take all they can get.
 * After each an honest client still works.
 *
 * usage: hostile_direct RNICD
 */
#include "hostile_link.h"

#include "ctl/process_message.h"
#include "unit_test.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MORE_THAN_LANES 130

/* A program, and its end of the process link. */
struct direct {
	int control_fd;
	int link_fd;
};

/* Says HELLO. Returns the status; `link_fd` is -1 unless the status is 0. */
static int direct_open(struct direct *direct)
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_DIRECT,
		.program = "direct",
	};
	struct hostile_reply reply;

	direct->control_fd = hostile_connect(&rnicd);
	direct->link_fd = -1;
	assert_true(hostile_request(direct->control_fd, RNIC_CTL_HELLO, &hello, sizeof(hello)));
	assert_true(hostile_receive(direct->control_fd, &reply));
	if (reply.header.status == 0) {
		assert_int_equal(reply.fd_count, 1);
		direct->link_fd = reply.fds[0];
	}
	return reply.header.status;
}

static void direct_close(const struct direct *direct)
{
	if (direct->link_fd >= 0)
		close(direct->link_fd);
	close(direct->control_fd);
}

static void direct_say(const struct direct *direct, uint16_t operation, const void *payload,
		       uint32_t bytes)
{
	struct {
		struct rnic_process_header header;
		uint8_t payload[RNIC_PROCESS_MESSAGE_BYTES];
	} message = {
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

/* Opens and answers READY. */
static void direct_serve(struct direct *direct)
{
	static const struct rnic_process_ready ready = {.udp_port = "socket"};

	assert_int_equal(direct_open(direct), 0);
	direct_say(direct, RNIC_PROCESS_READY, &ready, sizeof(ready));
}

/* Waits until the control plane has closed the link: messages may still be there. */
static void direct_expect_end(const struct direct *direct)
{
	struct pollfd link = {.fd = direct->link_fd, .events = POLLRDHUP};

	assert_int_equal(poll(&link, 1, 20000), 1);
	assert_true((link.revents & (POLLHUP | POLLRDHUP)) != 0);
}

/* An honest client comes, works and goes, and nothing of the liars is left. */
static void expect_unharmed(void)
{
	struct hostile_client client;

	hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
	hostile_expect_owned(&rnicd, 1, 1);
	hostile_client_close(&client);
	hostile_expect_owned(&rnicd, 0, 0);
}

static void test_garbage_on_the_link(void **state)
{
	static const uint8_t zeros[64];
	struct direct direct;

	(void)state;
	for (size_t bytes = 1; bytes < sizeof(zeros); bytes += 15) {
		assert_int_equal(direct_open(&direct), 0);
		assert_true(hostile_send(direct.link_fd, zeros, bytes, NULL, 0));
		direct_expect_end(&direct);
		direct_close(&direct);
	}
	expect_unharmed();
}

static void test_messages_out_of_place(void **state)
{
	static const struct rnic_process_ready ready = {.udp_port = "socket"};
	static const struct rnic_process_client_gone gone = {.client_id = 123456};
	static const struct rnic_process_start start = {.lane = RNIC_LANE_FIRST};
	static const struct {
		uint16_t operation;
		const void *payload;
		uint32_t bytes;
	} lies[] = {
		{RNIC_PROCESS_READY, &ready, sizeof(ready)},
		{RNIC_PROCESS_CLIENT_GONE, &gone, sizeof(gone)},
		{RNIC_PROCESS_START, &start, sizeof(start)},
	};
	struct direct direct;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		direct_serve(&direct);
		direct_say(&direct, lies[i].operation, lies[i].payload, lies[i].bytes);
		direct_expect_end(&direct);
		direct_close(&direct);
	}
	expect_unharmed();
}

static void test_second_hello(void **state)
{
	static const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_DIRECT,
	};
	struct hostile_reply reply;
	struct direct direct;

	(void)state;
	direct_serve(&direct);
	assert_false(
		hostile_call(direct.control_fd, RNIC_CTL_HELLO, &hello, sizeof(hello), &reply));
	direct_close(&direct);
	expect_unharmed();
}

/* A program that dies takes its lane with it only until then: more of them than there are lanes. */
static void test_death_of_programs_at_every_step(void **state)
{
	struct direct direct;

	(void)state;
	for (unsigned i = 0; i < 3 * MORE_THAN_LANES; i++) {
		if (i % 3 == 0)
			assert_int_equal(direct_open(&direct), 0);
		else
			direct_serve(&direct);
		if (i % 3 == 2) { /* the control connection goes first */
			close(direct.control_fd);
			close(direct.link_fd);
		} else {
			direct_close(&direct);
		}
	}
	expect_unharmed();
}

/* When no lane is left, a program hears so; when some are free again, all is as before. */
static void test_all_lanes_taken(void **state)
{
	struct direct programs[MORE_THAN_LANES];
	unsigned count = 0;
	int status = 0;

	(void)state;
	while (status == 0 && count < MORE_THAN_LANES)
		status = direct_open(&programs[count++]);
	assert_int_equal(status, -ENOSPC);
	while (count > 0)
		direct_close(&programs[--count]);
	expect_unharmed();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_garbage_on_the_link),
		cmocka_unit_test(test_messages_out_of_place),
		cmocka_unit_test(test_second_hello),
		cmocka_unit_test(test_death_of_programs_at_every_step),
		cmocka_unit_test(test_all_lanes_taken),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}
