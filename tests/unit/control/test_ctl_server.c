/* SPDX-License-Identifier: MIT */
#include "control/ctl_server.h"
#include "control/control_limits.h"

#include "client_fixture.h"

#include "base/clock.h"
#include "base/time_units.h"
#include "ctl/ctl_message.h"
#include "unit_test.h"

#include <sys/socket.h>
#include <unistd.h>

#define REQUESTS (LIMIT_TURN_REQUESTS + 4)
#define CLIENTS	 5

static uint64_t now_ns;
static uint64_t request_ns; /* time between two readings of the clock */

/* The linker puts this function before the real clock. */
uint64_t __wrap_clock_now_ns(void);

uint64_t __wrap_clock_now_ns(void)
{
	return now_ns += request_ns;
}

/* A server, and clients that have said HELLO; at first there is one. */
struct fixture {
	struct halves halves;
	struct ctl_server server;
	int peer_fds[CLIENTS];
	unsigned client_count;
};

static void ask(int fd, uint16_t operation, const void *payload, uint32_t bytes)
{
	struct {
		struct rnic_ctl_header header;
		uint8_t payload[sizeof(struct rnic_ctl_hello)];
	} request = {
		.header =
			{
				.magic = RNIC_CTL_MAGIC,
				.version = operation == RNIC_CTL_HELLO ? 0 : RNIC_CTL_VERSION_MAX,
				.operation = operation,
				.bytes = (uint32_t)sizeof(struct rnic_ctl_header) + bytes,
			},
	};

	memcpy(request.payload, payload, bytes);
	assert_int_equal(send(fd, &request, request.header.bytes, 0), request.header.bytes);
}

static unsigned replies_received(const struct fixture *f, unsigned client)
{
	static uint8_t message[RNIC_CTL_MESSAGE_BYTES];
	unsigned count = 0;

	while (recv(f->peer_fds[client], message, sizeof(message), MSG_DONTWAIT) > 0)
		count++;
	return count;
}

static unsigned replies_of_a_turn(struct fixture *f)
{
	ctl_server_poll(&f->server);
	return replies_received(f, 0);
}

static void create_client(struct fixture *f)
{
	static const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_ADMIN,
	};
	const unsigned client = f->client_count++;

	client_fixture_connect(&f->halves, 1, &f->peer_fds[client]);
	ask(f->peer_fds[client], RNIC_CTL_HELLO, &hello, sizeof(hello));
	while (replies_received(f, client) == 0)
		ctl_server_poll(&f->server);
}

static void ask_much(const struct fixture *f, unsigned client)
{
	static const struct rnic_ctl_show show = {.kind = RNIC_SHOW_DEVICE};

	for (unsigned i = 0; i < REQUESTS; i++)
		ask(f->peer_fds[client], RNIC_CTL_SHOW, &show, sizeof(show));
}

static int set_up(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;

	memset(f, 0, sizeof(*f));
	halves_init(&f->halves, NULL, NULL);
	f->server.set = &f->halves.clients;
	request_ns = 0;
	create_client(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	halves_fini(&f->halves);
	for (unsigned i = 0; i < f->client_count; i++)
		close(f->peer_fds[i]);
	return 0;
}

static void test_many_requests(void **state)
{
	ask_much(*state, 0);
	assert_int_equal(replies_of_a_turn(*state), LIMIT_TURN_REQUESTS);
	assert_int_equal(replies_of_a_turn(*state), REQUESTS - LIMIT_TURN_REQUESTS);
}

static void test_long_requests(void **state)
{
	ask_much(*state, 0);
	request_ns = LIMIT_TURN_REQUESTS_NS;
	for (unsigned i = 0; i < REQUESTS; i++)
		assert_int_equal(replies_of_a_turn(*state), 1);
}

/*
 * A turn serves a bounded number of requests of all clients together, and each client gets its
 * turn.
 */
static void test_long_requests_of_many(void **state)
{
	struct fixture *f = *state;
	unsigned replies[CLIENTS] = {0};

	while (f->client_count < CLIENTS)
		create_client(f);
	for (unsigned i = 0; i < CLIENTS; i++)
		ask_much(f, i);
	request_ns = LIMIT_TURN_REQUESTS_NS;
	for (unsigned i = 0; i < 2 * CLIENTS; i++) {
		unsigned served = 0;

		assert_true(ctl_server_poll(&f->server));
		for (unsigned k = 0; k < CLIENTS; k++) {
			unsigned received = replies_received(f, k);

			replies[k] += received;
			served += received;
		}
		assert_int_equal(served, 1);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_true(replies[i] >= 1);
}

static int slow_fd = -1, gate_fd;

int __real_close(int fd);
int __wrap_close(int fd);

/* As slow as a busy machine, or a file system that a user serves. */
int __wrap_close(int fd)
{
	char byte;

	if (fd == slow_fd) {
		slow_fd = -1;
		while (read(gate_fd, &byte, 1) < 0)
			continue;
	}
	return __real_close(fd);
}

/*
 * A client brings descriptors while the closing of others lags behind; returns the end of the gate
 * that lets the closing go on. The client has the reply, and has asked again.
 */
static int bring_too_many(struct fixture *f)
{
	static const struct rnic_ctl_show show = {.kind = RNIC_SHOW_DEVICE};
	struct list *node = f->halves.clients.clients.next;
	struct client *client = list_entry(node, struct client, node);
	const struct rnic_ctl_header request = {
		.magic = RNIC_CTL_MAGIC,
		.version = RNIC_CTL_VERSION_MAX,
		.operation = RNIC_CTL_SHARE,
		.bytes = sizeof(request),
	};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec part = {(void *)&request, sizeof(request)};
	const struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int gate[2], brought = STDERR_FILENO;

	assert_int_equal(pipe(gate), 0);
	gate_fd = gate[0];
	slow_fd = dup(STDERR_FILENO);
	f->halves.clients.quotas.limits[RESOURCE_DESCRIPTORS] = 4;
	quota_defer_close(&client->account, slow_fd);
	quota_defer_close(&client->account, dup(STDERR_FILENO));
	memcpy(CMSG_DATA(&control.header), &brought, sizeof(brought));
	assert_int_equal(sendmsg(f->peer_fds[0], &message, 0), sizeof(request));
	assert_int_equal(replies_of_a_turn(f), 1);
	ask(f->peer_fds[0], RNIC_CTL_SHOW, &show, sizeof(show));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(replies_of_a_turn(f), 0);
	assert_false(client->is_broken);
	return gate[1];
}

/* Closing is late on a busy machine: a client that is in order waits, and is served then. */
static void test_client_waits_for_closes(void **state)
{
	struct fixture *f = *state;

	close(bring_too_many(f));
	while (replies_of_a_turn(f) == 0)
		continue;
	close(gate_fd);
}

/* Closing may also never end. */
static void test_client_does_not_wait_for_ever(void **state)
{
	struct fixture *f = *state;
	int gate = bring_too_many(f);
	const struct client *client =
		list_entry(f->halves.clients.clients.next, struct client, node);

	now_ns += LIMIT_CLOSES_MS * RNIC_NS_PER_MS;
	ctl_server_poll(&f->server);
	assert_true(client->is_broken);
	close(gate);
	while (quota_closes_are_behind(&client->account))
		continue;
	close(gate_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_requests_of_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_client_waits_for_closes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_client_does_not_wait_for_ever, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
