/* SPDX-License-Identifier: MIT */
/*
 * Whether riowrite() stays until its write has arrived: sockets_direct ADDRESS, under rnic-run
 * --direct. Programs that wait for a direct write make no call that lets others run, so on few
 * cores a call that does not stay costs a time slice. The test looks at no clock. With the device
 * inside the program it is the call that stays which moves the bytes: of 500 writes, 500 have
 * arrived when the call returns, also on a busy machine, and 0 or 1 when no call stays.
 */
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#define PATIENCE_MS 5000
#define ROUNDS	    500
#define IOMAPS	    1

/* What the other end writes to directly. */
struct end {
	int socket;
	off_t offset; /* of the other end's memory */
	atomic_uint memory;
};

struct ends {
	int listener;
	struct end client;
	struct end server;
};

static const char *host;

static int open_socket(int family)
{
	const int maps = IOMAPS, fd = rsocket(family, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &maps, sizeof(maps)), 0);
	return fd;
}

/* Connects without a wait, so that one thread can be both ends. */
static void open_ends(struct ends *ends)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				       .ai_socktype = SOCK_STREAM};
	struct sockaddr_storage where;
	struct pollfd connected = {.events = POLLOUT};
	socklen_t bytes = sizeof(where);
	struct addrinfo *at;

	assert_int_equal(getaddrinfo(host, "0", &hints, &at), 0);
	ends->listener = open_socket(at->ai_family);
	assert_int_equal(rbind(ends->listener, at->ai_addr, at->ai_addrlen), 0);
	assert_int_equal(rlisten(ends->listener, 1), 0);
	assert_int_equal(rgetsockname(ends->listener, (struct sockaddr *)&where, &bytes), 0);
	ends->client.socket = open_socket(at->ai_family);
	assert_int_equal(rfcntl(ends->client.socket, F_SETFL, O_NONBLOCK), 0);
	if (rconnect(ends->client.socket, (struct sockaddr *)&where, bytes) != 0)
		assert_int_equal(errno, EINPROGRESS);
	connected.fd = ends->client.socket;
	assert_int_equal(rpoll(&connected, 1, PATIENCE_MS), 1);
	assert_int_equal(rfcntl(ends->client.socket, F_SETFL, 0), 0);
	ends->server.socket = raccept(ends->listener, NULL, NULL);
	assert_true(ends->server.socket >= 0);
	freeaddrinfo(at);
}

static void close_ends(struct ends *ends)
{
	rclose(ends->client.socket);
	rclose(ends->server.socket);
	rclose(ends->listener);
}

/* Lets the other end write to this end's memory. */
static void share_memory(struct end *end, struct end *other)
{
	char byte = 0;

	other->offset = riomap(end->socket, &end->memory, sizeof(end->memory), PROT_WRITE, 0, -1);
	assert_int_not_equal(other->offset, -1);
	/* A mapping is told with the next bytes. */
	assert_int_equal(rsend(end->socket, &byte, 1, 0), 1);
	assert_int_equal(rrecv(other->socket, &byte, 1, 0), 1);
}

static void write_number(const struct end *end, unsigned number)
{
	assert_int_equal(riowrite(end->socket, &number, sizeof(number), end->offset, 0),
			 sizeof(number));
}

static void test_a_write_has_arrived(void **state)
{
	struct ends ends = {.listener = -1};
	unsigned arrived = 0;

	(void)state;
	open_ends(&ends);
	share_memory(&ends.server, &ends.client);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		write_number(&ends.client, i);
		arrived += atomic_load(&ends.server.memory) == i;
		while (atomic_load(&ends.server.memory) != i)
			sched_yield();
	}
	print_message("%u of %u writes had arrived\n", arrived, ROUNDS);
	assert_true(arrived >= ROUNDS / 2);
	close_ends(&ends);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_write_has_arrived),
	};

	if (argc != 2)
		return 2;
	host = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
