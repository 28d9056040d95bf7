/* SPDX-License-Identifier: MIT */
/*
 * Clients that misuse their two connections: an operation or descriptors on the wrong one, one
 * without the other, one closed and the other kept, an end in between. After each the daemon owns
 * nothing of them, and none of their descriptors, and serves the next.
 *
 * usage: hostile_connections RNICD
 */
#include "tests/hostile/hostile_link.h"

#include "proto/ctl/ctl_cm.h"
#include "tests/unit/unit_test.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 20000
#define LOOKS	20000

static void expect_service(void)
{
	struct hostile_client client;

	hostile_expect_owned(&rnicd, 0, 0);
	hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
	hostile_client_close(&client);
	hostile_expect_owned(&rnicd, 0, 0);
}

static unsigned count_descriptors(void)
{
	char path[64];
	unsigned count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)rnicd.pid);
	directory = opendir(path);
	assert_non_null(directory);
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

/*
 * With a device process, whose descriptors the daemon has as well. The process ends some seconds
 * after its last client, and each look of the test starts it again.
 */
static unsigned count_descriptors_at_rest(void)
{
	expect_service();
	return count_descriptors();
}

/* The daemon closes the descriptors of a client that is gone a moment later. */
static void expect_no_more_descriptors(unsigned count)
{
	for (unsigned look = 0; look < LOOKS && count_descriptors() > count; look++)
		hostile_expect_owned(&rnicd, 0, 0);
	assert_true(count_descriptors() <= count);
}

static void test_operations_on_the_wrong_connection(void **state)
{
	static const struct {
		uint16_t operation;
		size_t bytes;
	} of_control[] =
		{
			{RNIC_CTL_HELLO, sizeof(struct rnic_ctl_hello)},
			{RNIC_CTL_SHOW, sizeof(struct rnic_ctl_show)},
			{RNIC_CTL_CM_CREATE_CHANNEL, 0},
			{RNIC_CTL_CM_QUERY, sizeof(struct rnic_ctl_object)},
			{RNIC_CTL_CM_SEND_EVENTS, sizeof(struct rnic_ctl_cm_send_events)},
		},
	  of_device[] = {
		  {RNIC_CTL_OPEN_DEVICE, sizeof(struct rnic_ctl_open_device)},
		  {RNIC_CTL_QUERY_PORT, 0},
		  {RNIC_CTL_ALLOC_PD, 0},
		  {RNIC_CTL_DESTROY_QP, sizeof(struct rnic_ctl_object)},
		  {RNIC_CTL_IMPORT_PD, sizeof(struct rnic_ctl_import_pd)},
	  };
	static const uint8_t zeros[256];
	struct hostile_client client;
	struct hostile_reply reply;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(of_control); i++) {
		hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
		assert_false(hostile_call(client.fd, of_control[i].operation, zeros,
					  of_control[i].bytes, &reply));
		hostile_client_close(&client);
	}
	for (unsigned i = 0; i < COUNT_OF(of_device); i++) {
		hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
		assert_false(hostile_call(client.control_fd, of_device[i].operation, zeros,
					  of_device[i].bytes, &reply));
		hostile_client_close(&client);
	}
	expect_service();
}

/* A control connection brings no descriptor into the daemon, before HELLO or after. */
static void test_descriptors_on_the_control_connection(void **state)
{
	const struct rnic_ctl_header request = {
		.magic = RNIC_CTL_MAGIC,
		.version = RNIC_CTL_VERSION_MAX,
		.operation = RNIC_CTL_CM_CREATE_CHANNEL,
		.bytes = sizeof(request),
	};
	static const unsigned counts[] = {1, RNIC_CTL_FDS_MAX, 64};
	const unsigned before = count_descriptors_at_rest();

	(void)state;
	for (unsigned i = 0; i < 2 * COUNT_OF(counts); i++) {
		const unsigned steps = i % 2 == 0 ? 0 : HOSTILE_STEPS;
		struct pollfd end = {.events = POLLIN};
		struct hostile_client client;
		int fds[64], pipes[2];

		assert_int_equal(pipe(pipes), 0);
		for (unsigned j = 0; j < COUNT_OF(fds); j++)
			fds[j] = pipes[1];
		hostile_client_open(&client, &rnicd, steps);
		assert_true(hostile_send(client.control_fd, &request, sizeof(request), fds,
					 counts[i / 2]));
		hostile_expect_hang_up(client.control_fd);
		close(pipes[1]);
		end.fd = pipes[0];
		assert_int_equal(poll(&end, 1, WAIT_MS), 1);
		assert_true((end.revents & POLLHUP) != 0);
		close(pipes[0]);
		hostile_client_close(&client);
	}
	expect_service();
	expect_no_more_descriptors(before);
}

/* The library of an older daemon sends a descriptor with HELLO, and hears why that does not do. */
static void test_hello_of_version_1(void **state)
{
	const struct {
		struct rnic_ctl_header header;
		struct rnic_ctl_hello hello;
	} message = {
		.header =
			{
				.magic = RNIC_CTL_MAGIC,
				.operation = RNIC_CTL_HELLO,
				.bytes = sizeof(message),
			},
		.hello = {.version_min = 1, .version_max = 1, .flags = 1 << 1},
	};
	const unsigned before = count_descriptors_at_rest();
	const int fds[] = {STDERR_FILENO};

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct hostile_reply reply;
		int fd = hostile_connect(&rnicd);

		assert_true(hostile_send(fd, &message, sizeof(message), fds, COUNT_OF(fds)));
		assert_true(hostile_receive(fd, &reply));
		assert_int_equal(reply.header.status, -EPROTONOSUPPORT);
		assert_non_null(strstr((const char *)reply.payload, "versions 1 to 1"));
		/* From then on nobody listens. */
		if (i % 2 == 0)
			hostile_send(fd, &message, sizeof(message), fds, COUNT_OF(fds));
		close(fd);
	}
	expect_service();
	expect_no_more_descriptors(before);
}

/* The device connection of a client that never opens the device is the client's alone to lose. */
static void test_device_never_opened(void **state)
{
	const unsigned before = count_descriptors_at_rest();
	int control_fds[8], fds[8];
	struct hostile_client other;
	struct hostile_reply reply;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(fds); i++) {
		control_fds[i] = hostile_connect(&rnicd);
		fds[i] = hostile_hello(control_fds[i]);
	}
	hostile_client_open(&other, &rnicd, HOSTILE_STEPS);
	hostile_client_close(&other);
	/* The connection manager needs no device. */
	hostile_must(control_fds[0], RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0, &reply);
	close(reply.fds[0]);
	for (unsigned i = 0; i < COUNT_OF(fds); i++) {
		if (i % 2 == 0)
			assert_false(hostile_call(fds[i], RNIC_CTL_ALLOC_PD, NULL, 0, &reply));
		close(fds[i]);
		close(control_fds[i]);
	}
	expect_service();
	expect_no_more_descriptors(before);
}

/* The device's end of the connection is in a reply that nobody receives. */
static void test_device_connection_never_received(void **state)
{
	const struct {
		struct rnic_ctl_header header;
		struct rnic_ctl_hello hello;
	} message = {
		.header =
			{
				.magic = RNIC_CTL_MAGIC,
				.operation = RNIC_CTL_HELLO,
				.bytes = sizeof(message),
			},
		.hello =
			{
				.version_min = RNIC_CTL_VERSION_MIN,
				.version_max = RNIC_CTL_VERSION_MAX,
			},
	};
	const unsigned before = count_descriptors_at_rest();
	struct pollfd answer = {.events = POLLIN};

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		answer.fd = hostile_connect(&rnicd);
		assert_true(hostile_send(answer.fd, &message, sizeof(message), NULL, 0));
		if (i % 2 == 0)
			assert_int_equal(poll(&answer, 1, WAIT_MS), 1);
		close(answer.fd);
	}
	expect_service();
	expect_no_more_descriptors(before);
}

/* What the client had there goes with the device connection; with the other one the rest. */
static void test_device_connection_closed_first(void **state)
{
	const unsigned before = count_descriptors_at_rest();
	struct hostile_client client;

	(void)state;
	for (unsigned is_shut_down = 0; is_shut_down < 2; is_shut_down++) {
		struct pollfd async = {.events = POLLIN};

		hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
		if (is_shut_down) {
			shutdown(client.fd, SHUT_RDWR);
		} else {
			close(client.fd);
			client.fd = -1;
		}
		/* The device has ended the pipe of its events. */
		async.fd = client.events_fd;
		assert_int_equal(poll(&async, 1, WAIT_MS), 1);
		assert_true((async.revents & POLLHUP) != 0);
		hostile_client_close(&client);
		expect_service();
	}
	expect_no_more_descriptors(before);
}

static void test_control_connection_closed_first(void **state)
{
	const unsigned before = count_descriptors_at_rest();
	struct hostile_client client;

	(void)state;
	for (unsigned is_shut_down = 0; is_shut_down < 2; is_shut_down++) {
		struct pollfd channel = {.events = POLLIN};
		struct hostile_reply reply;

		hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
		hostile_must(client.control_fd, RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0, &reply);
		if (is_shut_down) {
			shutdown(client.control_fd, SHUT_RDWR);
		} else {
			close(client.control_fd);
			client.control_fd = -1;
		}
		channel.fd = reply.fds[0];
		assert_int_equal(poll(&channel, 1, WAIT_MS), 1);
		assert_true((channel.revents & POLLHUP) != 0);
		close(channel.fd);
		/* Answered or not, the device connection comes to an end. */
		hostile_call(client.fd, RNIC_CTL_QUERY_PORT, NULL, 0, &reply);
		hostile_client_close(&client);
		expect_service();
	}
	expect_no_more_descriptors(before);
}

/* A client that only reads, or only writes, on one of the two. */
static void test_half_open_connections(void **state)
{
	static const int family[] = {SHUT_RD, SHUT_WR};
	const unsigned before = count_descriptors_at_rest();

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct hostile_client client, other;

		hostile_client_open(&client, &rnicd, HOSTILE_STEPS);
		shutdown(i < 2 ? client.control_fd : client.fd, family[i % 2]);
		hostile_client_open(&other, &rnicd, HOSTILE_STEPS);
		hostile_client_close(&other);
		hostile_client_close(&client);
		expect_service();
	}
	expect_no_more_descriptors(before);
}

enum {
	DEATH_CONNECTED,
	DEATH_GREETED,
	DEATH_OPENING,
	DEATH_OPEN,
	DEATH_WITH_CHANNEL,
	DEATH_COUNT,
};

static void die_at(unsigned place)
{
	const struct {
		struct rnic_ctl_header header;
		struct rnic_ctl_open_device open_device;
	} message = {
		.header =
			{
				.magic = RNIC_CTL_MAGIC,
				.version = RNIC_CTL_VERSION_MAX,
				.operation = RNIC_CTL_OPEN_DEVICE,
				.bytes = sizeof(message),
			},
	};
	struct hostile_reply reply;
	int control_fd = hostile_connect(&rnicd), fd;

	if (place >= DEATH_GREETED)
		fd = hostile_hello(control_fd);
	if (place >= DEATH_OPENING)
		hostile_send(fd, &message, sizeof(message), NULL, 0);
	if (place >= DEATH_OPEN)
		hostile_receive(fd, &reply);
	if (place >= DEATH_WITH_CHANNEL)
		hostile_call(control_fd, RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0, &reply);
	raise(SIGKILL);
}

static void test_death_between_the_connections(void **state)
{
	const unsigned before = count_descriptors_at_rest();

	(void)state;
	for (unsigned place = 0; place < DEATH_COUNT; place++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			die_at(place);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		expect_service();
	}
	expect_no_more_descriptors(before);
}

/* Another client's device connection, by which the two could keep one another alive. */
static void test_connections_sent_to_one_another(void **state)
{
	const struct {
		struct rnic_ctl_header header;
		struct rnic_ctl_register_mr request;
	} message = {
		.header =
			{
				.magic = RNIC_CTL_MAGIC,
				.version = RNIC_CTL_VERSION_MAX,
				.operation = RNIC_CTL_REGISTER_MR,
				.bytes = sizeof(message),
			},
		.request = {.mode = RNIC_MEMORY_MAPPED, .length = 4096},
	};
	const unsigned before = count_descriptors_at_rest();
	struct hostile_client clients[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		hostile_client_open(&clients[i], &rnicd, HOSTILE_STEPS);
	hostile_pause(&rnicd);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(hostile_send(clients[i].fd, &message, sizeof(message),
					 &clients[1 - i].fd, 1));
		assert_true(
			hostile_send(clients[i].fd, &message, sizeof(message), &clients[i].fd, 1));
	}
	for (unsigned i = 0; i < 2; i++)
		hostile_client_close(&clients[i]);
	hostile_continue(&rnicd);
	expect_service();
	expect_no_more_descriptors(before);
}

/* The first service makes the threads and descriptors that the daemon keeps. */
static int set_up(void **state)
{
	hostile_start(state);
	expect_service();
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations_on_the_wrong_connection),
		cmocka_unit_test(test_descriptors_on_the_control_connection),
		cmocka_unit_test(test_hello_of_version_1),
		cmocka_unit_test(test_device_never_opened),
		cmocka_unit_test(test_device_connection_never_received),
		cmocka_unit_test(test_device_connection_closed_first),
		cmocka_unit_test(test_control_connection_closed_first),
		cmocka_unit_test(test_half_open_connections),
		cmocka_unit_test(test_death_between_the_connections),
		cmocka_unit_test(test_connections_sent_to_one_another),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, set_up, hostile_stop);
}
