/* SPDX-License-Identifier: MIT */
/*
 * The peer of a stream dies in the middle of a message, or parts before the stream stands:
 * sockets_reset ADDRESS. With a port the program is the peer that dies.
 */
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 5000
#define TRIES	    50

static const char *host;

static struct addrinfo *find_address(const char *port)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;

	return getaddrinfo(host, port, &hints, &found) == 0 ? found : NULL;
}

/* Connects, sends 4 bytes of 8, and stays. */
static int be_the_peer(const char *port)
{
	struct addrinfo *to = find_address(port);
	const int client = to != NULL ? rsocket(to->ai_family, SOCK_STREAM, 0) : -1;

	if (client < 0 || rconnect(client, to->ai_addr, to->ai_addrlen) != 0 ||
	    rwrite(client, "half", 4) != 4)
		return 1;
	return pause();
}

static pid_t start_peer(int listener)
{
	struct sockaddr_storage where;
	socklen_t bytes = sizeof(where);
	char port[NI_MAXSERV];
	pid_t peer;

	assert_int_equal(rgetsockname(listener, (struct sockaddr *)&where, &bytes), 0);
	assert_int_equal(getnameinfo((struct sockaddr *)&where, bytes, NULL, 0, port, sizeof(port),
				     NI_NUMERICSERV),
			 0);
	peer = fork();
	if (peer != 0)
		return peer;
	execl("/proc/self/exe", "sockets_reset", host, port, NULL);
	_exit(1);
}

static int open_listener(void)
{
	struct addrinfo *at = find_address("0");
	int listener;

	assert_non_null(at);
	listener = rsocket(at->ai_family, SOCK_STREAM, 0);
	assert_true(listener >= 0);
	assert_int_equal(rbind(listener, at->ai_addr, at->ai_addrlen), 0);
	assert_int_equal(rlisten(listener, 1), 0);
	freeaddrinfo(at);
	return listener;
}

/* Returns a stream with 4 bytes of 8, whose peer is dead. */
static int accept_from_dead_peer(int listener)
{
	const pid_t peer = start_peer(listener);
	struct pollfd server = {.fd = listener, .events = POLLIN};

	assert_int_equal(rpoll(&server, 1, PATIENCE_MS), 1);
	server.fd = raccept(listener, NULL, NULL);
	assert_true(server.fd >= 0);
	assert_int_equal(rpoll(&server, 1, PATIENCE_MS), 1);
	assert_int_equal(kill(peer, SIGKILL), 0);
	assert_int_equal(waitpid(peer, NULL, 0), peer);
	return server.fd;
}

static void test_the_bytes_come_before_the_reset(void **state)
{
	const int listener = open_listener();
	const int server = accept_from_dead_peer(listener);
	char bytes[8];

	(void)state;
	assert_int_equal(rrecv(server, bytes, 8, MSG_WAITALL), 4);
	assert_memory_equal(bytes, "half", 4);
	errno = 0;
	assert_int_equal(rrecv(server, bytes, 8, MSG_WAITALL), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rclose(listener), 0);
}

/* Some programs read errno after 0 bytes, and read again when it is EAGAIN. */
static void test_an_end_leaves_errno_alone(void **state)
{
	const int listener = open_listener();
	const int server = accept_from_dead_peer(listener);
	char bytes[8];

	(void)state;
	while (rrecv(server, bytes, 8, MSG_WAITALL) > 0)
		;
	errno = 0;
	assert_int_equal(rrecv(server, bytes, 8, MSG_WAITALL), 0);
	assert_int_equal(errno, 0);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rclose(listener), 0);
}

/* A client that has asked, and has not looked for the answer since. */
static int ask(int listener)
{
	struct pollfd waiting = {.fd = listener, .events = POLLIN};
	struct sockaddr_storage where;
	socklen_t bytes = sizeof(where);
	int client;

	assert_int_equal(rgetsockname(listener, (struct sockaddr *)&where, &bytes), 0);
	client = rsocket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_true(client >= 0);
	if (rconnect(client, (struct sockaddr *)&where, bytes) != 0)
		assert_int_equal(errno, EINPROGRESS);
	for (unsigned ms = 0; ms < PATIENCE_MS && rpoll(&waiting, 1, 20) == 0; ms += 20) {
		struct pollfd asking = {.fd = client, .events = POLLOUT};

		rpoll(&asking, 1, 0);
	}
	return client;
}

/* Returns what rconnect() says of a peer that accepts and closes at once. */
static int connect_to_who_parts(int listener)
{
	const int client = ask(listener), server = raccept(listener, NULL, NULL);
	struct sockaddr_storage where;
	socklen_t bytes = sizeof(where);
	int error;

	assert_true(server >= 0);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rgetsockname(listener, (struct sockaddr *)&where, &bytes), 0);
	assert_int_equal(rfcntl(client, F_SETFL, 0), 0);
	error = rconnect(client, (struct sockaddr *)&where, bytes) == 0 ? 0 : errno;
	assert_int_equal(rclose(client), 0);
	return error;
}

/* No mistake of this program. A client that looks early has confirmed by then: EISCONN. */
static void test_a_peer_parts_before_this_end_confirms(void **state)
{
	const int listener = open_listener();
	int error = EISCONN;

	(void)state;
	for (unsigned i = 0; i < TRIES && error == EISCONN; i++)
		error = connect_to_who_parts(listener);
	assert_int_equal(error, ECONNRESET);
	assert_int_equal(rclose(listener), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_bytes_come_before_the_reset),
		cmocka_unit_test(test_an_end_leaves_errno_alone),
		cmocka_unit_test(test_a_peer_parts_before_this_end_confirms),
	};

	if (argc < 2)
		return 2;
	host = argv[1];
	if (argc == 3)
		return be_the_peer(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
