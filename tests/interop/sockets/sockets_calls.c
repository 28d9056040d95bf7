/* SPDX-License-Identifier: MIT */
/* What sockets promise and the distribution's programs do not ask for: sockets_calls ADDRESS */
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY_BYTES (1u << 20)
#define ROUNDS	   100

static struct sockaddr_storage address; /* of the device, port 0 */
static socklen_t address_bytes;

struct ends {
	int listener;
	int client;
	int server;
};

/* --- connections ----------------------------------------------------------------------------- */

static int listen_on(struct sockaddr_storage *where)
{
	const int listener = rsocket(address.ss_family, SOCK_STREAM, 0);
	socklen_t bytes = sizeof(*where);

	assert_true(listener >= 0);
	assert_int_equal(rbind(listener, (struct sockaddr *)&address, address_bytes), 0);
	assert_int_equal(rlisten(listener, 5), 0);
	assert_int_equal(rgetsockname(listener, (struct sockaddr *)where, &bytes), 0);
	assert_int_equal(bytes, address_bytes);
	return listener;
}

static short wait_for(int socket, short events, int timeout_ms)
{
	struct pollfd fd = {.fd = socket, .events = events};

	return rpoll(&fd, 1, timeout_ms) > 0 ? fd.revents : 0;
}

/* A listener's thread may have accepted before rconnect() returns. */
static int begin_to_connect(const struct sockaddr_storage *where)
{
	const int client = rsocket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_true(client >= 0);
	if (rconnect(client, (const struct sockaddr *)where, address_bytes) != 0)
		assert_int_equal(errno, EINPROGRESS);
	return client;
}

/* The client does not wait, so that one thread can be both ends. */
static int setup(void **state)
{
	struct ends *ends = calloc(1, sizeof(*ends));
	struct sockaddr_storage where;
	int error = -1;
	socklen_t bytes = sizeof(error);

	ends->listener = listen_on(&where);
	ends->client = begin_to_connect(&where);
	ends->server = raccept(ends->listener, NULL, NULL);
	assert_true(ends->server >= 0);
	assert_int_equal(wait_for(ends->client, POLLOUT, 5000), POLLOUT);
	assert_int_equal(rgetsockopt(ends->client, SOL_SOCKET, SO_ERROR, &error, &bytes), 0);
	assert_int_equal(error, 0);
	assert_int_equal(rfcntl(ends->client, F_SETFL, 0), 0);
	*state = ends;
	return 0;
}

static int teardown(void **state)
{
	struct ends *ends = *state;

	rclose(ends->client);
	rclose(ends->server);
	rclose(ends->listener);
	free(ends);
	return 0;
}

static void test_names_are_those_of_the_ends(void **state)
{
	const struct ends *ends = *state;
	struct sockaddr_storage names[2] = {0};
	socklen_t bytes = sizeof(names[0]);

	assert_int_equal(rgetsockname(ends->client, (struct sockaddr *)&names[0], &bytes), 0);
	bytes = sizeof(names[1]);
	assert_int_equal(rgetpeername(ends->server, (struct sockaddr *)&names[1], &bytes), 0);
	assert_memory_equal(&names[0], &names[1], address_bytes);
	assert_int_equal(rgetpeername(ends->listener, (struct sockaddr *)&names[1], &bytes), -1);
	assert_int_equal(errno, ENOTCONN);
}

/* Whoever asks with no room learns the length, as librspreload does before it falls back to TCP. */
static void test_names_can_be_measured(void **state)
{
	int (*const calls[])(int, struct sockaddr *, socklen_t *) = {rgetsockname, rgetpeername};
	const struct ends *ends = *state;

	for (size_t i = 0; i < 2; i++) {
		struct sockaddr name = {0};
		socklen_t bytes = 0;

		assert_int_equal(calls[i](ends->client, NULL, &bytes), 0);
		assert_int_equal(bytes, address_bytes);
		assert_int_equal(calls[i](ends->client, NULL, &bytes), -1);
		assert_int_equal(errno, EFAULT);
		assert_int_equal(calls[i](ends->client, &name, NULL), -1);
		assert_int_equal(errno, EFAULT);
		bytes = sizeof(name.sa_family);
		assert_int_equal(calls[i](ends->client, &name, &bytes), 0);
		assert_int_equal(name.sa_family, address.ss_family);
		assert_int_equal(bytes, address_bytes);
	}
}

static void test_vectors_and_peeking(void **state)
{
	const struct ends *ends = *state;
	char head[3], tail[10] = "";
	const struct iovec out[] = {
		{.iov_base = "one", .iov_len = 3}, {0}, {.iov_base = "two", .iov_len = 3}};
	const struct iovec in[] = {{.iov_base = head, .iov_len = 3}, {tail, sizeof(tail)}};

	assert_int_equal(rwritev(ends->client, out, 3), 6);
	assert_int_equal(rrecv(ends->server, tail, sizeof(tail), MSG_PEEK), 6);
	assert_memory_equal(tail, "onetwo", 6);
	assert_int_equal(rreadv(ends->server, in, 2), 6);
	assert_memory_equal(head, "one", 3);
	assert_memory_equal(tail, "two", 3);
	assert_int_equal(rrecv(ends->server, tail, sizeof(tail), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void test_time_runs_out(void **state)
{
	const struct ends *ends = *state;
	const struct timeval time = {.tv_usec = 20000};
	char byte;

	assert_int_equal(rsetsockopt(ends->server, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)),
			 0);
	assert_int_equal(rread(ends->server, &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(wait_for(ends->server, POLLIN, 20), 0);
}

static void test_half_a_connection_goes_on(void **state)
{
	const struct ends *ends = *state;
	char bytes[8];

	assert_int_equal(rwrite(ends->client, "question", 8), 8);
	assert_int_equal(rshutdown(ends->client, SHUT_WR), 0);
	assert_int_equal(rwrite(ends->client, "more", 4), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(rrecv(ends->server, bytes, 8, MSG_WAITALL), 8);
	assert_int_equal(rread(ends->server, bytes, 8), 0);
	assert_int_equal(rwrite(ends->server, "answer", 6), 6);
	assert_int_equal(rshutdown(ends->server, SHUT_WR), 0);
	assert_int_equal(rrecv(ends->client, bytes, 8, MSG_WAITALL), 6);
	assert_memory_equal(bytes, "answer", 6);
	assert_int_equal(rread(ends->client, bytes, 8), 0);
}

static void test_files_and_rsockets_are_polled_together(void **state)
{
	const struct ends *ends = *state;
	struct pollfd fds[2] = {{.events = POLLIN}, {.fd = ends->server, .events = POLLIN}};
	struct timeval now = {0};
	fd_set readable;
	int ends_of_pipe[2];

	assert_int_equal(pipe(ends_of_pipe), 0);
	fds[0].fd = ends_of_pipe[0];
	assert_int_equal(rpoll(fds, 2, 0), 0);
	assert_int_equal(write(ends_of_pipe[1], "x", 1), 1);
	assert_int_equal(rpoll(fds, 2, -1), 1);
	assert_int_equal(fds[0].revents, POLLIN);
	assert_int_equal(rwrite(ends->client, "y", 1), 1);
	assert_int_equal(wait_for(ends->server, POLLIN, 5000), POLLIN);
	assert_int_equal(rpoll(fds, 2, -1), 2);
	FD_ZERO(&readable);
	FD_SET(ends_of_pipe[0], &readable);
	FD_SET(ends->server, &readable);
	FD_SET(ends->listener, &readable);
	assert_int_equal(rselect(FD_SETSIZE, &readable, NULL, NULL, &now), 2);
	assert_true(FD_ISSET(ends_of_pipe[0], &readable) && FD_ISSET(ends->server, &readable));
	close(ends_of_pipe[0]);
	close(ends_of_pipe[1]);
}

/* --- threads --------------------------------------------------------------------------------- */

static uint8_t byte_at(size_t position)
{
	return (uint8_t)(position * 7 + (position >> 9));
}

static void *write_many(void *socket)
{
	uint8_t *bytes = malloc(MANY_BYTES);
	ssize_t sent;

	for (size_t i = 0; i < MANY_BYTES; i++)
		bytes[i] = byte_at(i);
	sent = rwrite(*(const int *)socket, bytes, MANY_BYTES);
	free(bytes);
	return (void *)(intptr_t)(sent == MANY_BYTES);
}

static void *read_many(void *socket)
{
	uint8_t *bytes = malloc(MANY_BYTES);
	bool is_right = rrecv(*(const int *)socket, bytes, MANY_BYTES, MSG_WAITALL) == MANY_BYTES;

	for (size_t i = 0; is_right && i < MANY_BYTES; i++)
		is_right = bytes[i] == byte_at(i);
	free(bytes);
	return (void *)(intptr_t)is_right;
}

static void read_and_write_on_each_end(struct ends *ends)
{
	int *const sockets[] = {&ends->client, &ends->client, &ends->server, &ends->server};
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i % 2 ? write_many : read_many, sockets[i]);
	for (size_t i = 0; i < 4; i++) {
		void *is_right;

		pthread_join(threads[i], &is_right);
		assert_non_null(is_right);
	}
}

/* Two threads sleep on one rsocket in ever new ways: what one of them takes, both must hear. */
static void test_a_reader_and_a_writer_on_each_end(void **state)
{
	for (int round = 0; round < ROUNDS; round++)
		read_and_write_on_each_end(*state);
}

static void *poll_in(void *socket)
{
	return (void *)(intptr_t)wait_for(*(const int *)socket, POLLIN, -1);
}

static void *read_one(void *socket)
{
	char byte;

	return (void *)(intptr_t)(rread(*(const int *)socket, &byte, 1) + 1);
}

/* Whoever takes the news in, all who wait for it hear of it. */
static void test_the_end_wakes_all_who_wait(void **state)
{
	struct ends *ends = *state;
	void *(*const waits[])(void *) = {poll_in, read_one, poll_in, read_one};
	pthread_t threads[4];
	void *result;

	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, waits[i], &ends->server);
	assert_int_equal(rclose(ends->client), 0);
	ends->client = -1;
	for (size_t i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		if (waits[i] == poll_in)
			assert_int_equal((intptr_t)result & POLLIN, POLLIN);
		else
			assert_int_equal((intptr_t)result, 1); /* 0 bytes: the end */
	}
}

static void *accept_one(void *socket)
{
	return (void *)(intptr_t)raccept(*(const int *)socket, NULL, NULL);
}

/* Who is cancelled keeps nothing from others, wherever it was. */
static void test_cancelled_threads_leave_the_rest(void **state)
{
	struct ends *ends = *state;
	const struct {
		void *(*wait)(void *);
		int *socket;
	} rows[] = {
		{read_one, &ends->server}, {poll_in, &ends->server}, {accept_one, &ends->listener}};
	char byte = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, rows[i].wait, rows[i].socket);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		assert_ptr_equal(result, PTHREAD_CANCELED);
	}
	assert_int_equal(rwrite(ends->client, "y", 1), 1);
	assert_int_equal(rread(ends->server, &byte, 1), 1);
	assert_int_equal(byte, 'y');
}

/* Between two calls such threads have nothing to clean up. */
static void *write_on(void *socket)
{
	static const char bytes[4096];

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	while (rwrite(*(const int *)socket, bytes, sizeof(bytes)) > 0)
		;
	return NULL;
}

static void *poll_and_read_on(void *socket)
{
	char bytes[16];

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	while (wait_for(*(const int *)socket, POLLIN, -1) == POLLIN &&
	       rread(*(const int *)socket, bytes, sizeof(bytes)) > 0)
		;
	return NULL;
}

static void cancel(pthread_t thread)
{
	void *result;

	pthread_cancel(thread);
	pthread_join(thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
}

/* iperf3 3.18 ends its threads in this way. */
static void test_asynchronously_cancelled_threads_leave_the_rest(void **state)
{
	struct ends *ends = *state;
	static char bytes[65536];
	pthread_t thread;

	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_create(&thread, NULL, write_on, &ends->client);
		for (unsigned j = 0; j < i % 10; j++)
			assert_true(rread(ends->server, bytes, sizeof(bytes)) > 0);
		cancel(thread);
		pthread_create(&thread, NULL, poll_and_read_on, &ends->client);
		for (unsigned j = 0; j < i % 10; j++)
			assert_int_equal(rwrite(ends->server, "x", 1), 1);
		cancel(thread);
	}
	/* Bytes of the threads may still be on their way, and fill the buffer again. */
	do {
		while (rrecv(ends->server, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
	} while (rsend(ends->client, "y", 1, MSG_DONTWAIT) != 1);
	while (rread(ends->server, bytes, 1) == 1 && bytes[0] != 'y')
		;
	assert_int_equal(bytes[0], 'y');
}

static void *close_it(void *socket)
{
	return (void *)(intptr_t)rclose(*(const int *)socket);
}

static volatile sig_atomic_t victim, closed, sent;

static void close_victim(int signal)
{
	const int error = errno;

	(void)signal;
	sent = (int)rsend(victim, "z", 1, MSG_DONTWAIT) < 0 ? errno : 0;
	closed = rclose(victim) == 0;
	errno = error;
}

/*
 * What POSIX lets a signal handler call does not wait for the call that the signal came into, which
 * may be anywhere, most of the time under a lock.
 */
static void close_by_signal_while(void (*call)(int), int socket)
{
	const struct itimerval soon = {.it_value.tv_usec = 3000};

	victim = socket;
	closed = 0;
	signal(SIGALRM, close_victim);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!closed)
		call(socket);
	signal(SIGALRM, SIG_DFL);
	assert_true(sent == 0 || sent == EDEADLK || sent == EDESTADDRREQ);
	assert_int_equal(rclose(socket), -1);
	assert_int_equal(errno, EBADF);
}

static void try_to_read(int socket)
{
	char byte;

	rrecv(socket, &byte, 1, MSG_DONTWAIT);
}

static void look_for_bytes(int socket)
{
	wait_for(socket, POLLIN, 0);
}

static void read_for_good(int socket)
{
	char byte;

	rread(socket, &byte, 1);
}

static void test_signal_handlers_close(void **state)
{
	struct ends *ends = *state;
	char byte;

	for (int i = 0; i < 10; i++) {
		const int datagrams = rsocket(address.ss_family, SOCK_DGRAM, 0);

		assert_int_equal(rbind(datagrams, (struct sockaddr *)&address, address_bytes), 0);
		close_by_signal_while(i % 2 ? try_to_read : look_for_bytes, datagrams);
	}
	close_by_signal_while(read_for_good, ends->server);
	while (rread(ends->client, &byte, 1) == 1)
		assert_int_equal(byte, 'z');
	teardown(state);
	setup(state);
	close_by_signal_while(look_for_bytes, ((struct ends *)*state)->client);
}

static void test_closing_wakes_who_reads(void **state)
{
	struct ends *ends = *state;
	pthread_t reader, closing;
	void *result;

	pthread_create(&reader, NULL, read_one, &ends->server);
	pthread_create(&closing, NULL, close_it, &ends->server);
	pthread_join(closing, &result);
	assert_null(result);
	pthread_join(reader, &result);
	assert_true((intptr_t)result <= 1);
	assert_int_equal(rclose(ends->server), -1);
	assert_int_equal(errno, EBADF);
	ends->server = -1;
}

/* --- options --------------------------------------------------------------------------------- */

static int get_int(int socket, int level, int name)
{
	int value = -1;
	socklen_t bytes = sizeof(value);

	assert_int_equal(rgetsockopt(socket, level, name, &value, &bytes), 0);
	assert_int_equal(bytes, sizeof(value));
	return value;
}

static void test_options_are_kept(void **state)
{
	const struct ends *ends = *state;
	static const struct {
		int level, name, set, got;
	} rows[] = {
		{SOL_SOCKET, SO_REUSEADDR, 1, 1},     {SOL_SOCKET, SO_SNDBUF, 50000, 100000},
		{SOL_SOCKET, SO_RCVBUF, 1, 4096},     {SOL_SOCKET, SO_KEEPALIVE, 1, 1},
		{SOL_SOCKET, SO_OOBINLINE, 1, 1},     {IPPROTO_TCP, TCP_NODELAY, 1, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 30, 30},  {SOL_RDMA, RDMA_SQSIZE, 100000, 65534},
		{SOL_RDMA, RDMA_RQSIZE, 100, 100},    {SOL_RDMA, RDMA_INLINE, 0, 0},
		{SOL_RDMA, RDMA_IOMAPSIZE, 300, 256},
	};
	const int socket = rsocket(address.ss_family, SOCK_STREAM, 0);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(
			rsetsockopt(socket, rows[i].level, rows[i].name, &rows[i].set, sizeof(int)),
			0);
		assert_int_equal(get_int(socket, rows[i].level, rows[i].name), rows[i].got);
	}
	assert_int_equal(get_int(socket, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	assert_int_equal(rsetsockopt(socket, SOL_SOCKET, SO_TYPE, &rows[0].set, 4), -1);
	assert_int_equal(errno, ENOPROTOOPT);
	/* What is connected has its queues. */
	assert_int_equal(rsetsockopt(ends->client, SOL_RDMA, RDMA_SQSIZE, &rows[0].set, 4), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rclose(socket), 0);
}

static void test_the_route_is_told(void **state)
{
	const struct ends *ends = *state;
	struct ibv_path_data path;
	socklen_t bytes = sizeof(path);

	assert_int_equal(rgetsockopt(ends->client, SOL_RDMA, RDMA_ROUTE, &path, &bytes), 0);
	assert_int_equal(bytes, sizeof(path));
	assert_memory_equal(&path.path.sgid, &path.path.dgid, sizeof(path.path.sgid));
}

/* --- fork ------------------------------------------------------------------------------------ */

/* Has the parent's numbers to close, and sockets of its own. */
static int be_a_child(const struct ends *ends)
{
	struct sockaddr_storage where;
	char byte;

	if (rread(ends->server, &byte, 1) != -1 || errno != EBADF)
		return 1;
	if (rclose(ends->server) != 0 || rclose(ends->client) != 0)
		return 2;
	return rclose(listen_on(&where)) == 0 ? 0 : 3;
}

static void test_a_child_leaves_the_connection_alone(void **state)
{
	const struct ends *ends = *state;
	const pid_t child = fork();
	char byte = 0;
	int status;

	if (child == 0)
		_exit(be_a_child(ends));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(rwrite(ends->client, "z", 1), 1);
	assert_int_equal(rread(ends->server, &byte, 1), 1);
	assert_int_equal(byte, 'z');
}

static void keep_alive(int socket, int seconds)
{
	const int on = 1;

	assert_int_equal(rsetsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)), 0);
	assert_int_equal(rsetsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds)),
			 0);
}

/* Both have a thread for it. That of the parent sleeps at the time of the fork, or begins to. */
static void test_a_child_keeps_its_own_alive(void **state)
{
	const struct ends *ends = *state;
	pid_t child;
	int status;

	keep_alive(ends->client, 100);
	poll(NULL, 0, 100);
	child = fork();
	if (child == 0) {
		const int socket = rsocket(address.ss_family, SOCK_STREAM, 0);

		alarm(20);
		for (int seconds = 1; seconds <= 100; seconds++) {
			keep_alive(socket, seconds);
			poll(NULL, 0, 1);
		}
		_exit(rclose(socket) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* --- datagrams ------------------------------------------------------------------------------- */

static void test_datagrams_keep_their_bounds(void **state)
{
	const int server = rsocket(address.ss_family, SOCK_DGRAM, 0);
	const int client = rsocket(address.ss_family, SOCK_DGRAM, 0);
	struct sockaddr_storage where, from = {0};
	socklen_t bytes = sizeof(where);
	char data[2048] = "";

	(void)state;
	assert_int_equal(rbind(server, (struct sockaddr *)&address, address_bytes), 0);
	assert_int_equal(rgetsockname(server, (struct sockaddr *)&where, &bytes), 0);
	assert_int_equal(rsend(client, "x", 1, 0), -1);
	assert_int_equal(errno, EDESTADDRREQ);
	assert_int_equal(rsendto(client, data, 2048, 0, (struct sockaddr *)&where, bytes), -1);
	assert_int_equal(errno, EMSGSIZE);
	/* By UDP, as it is the first, and by the queue pair. */
	for (int i = 0; i < 3; i++) {
		bytes = sizeof(from);
		assert_int_equal(
			rsendto(client, "hello", 5, 0, (struct sockaddr *)&where, address_bytes),
			5);
		assert_int_equal(rrecvfrom(server, data, 2, 0, (struct sockaddr *)&from, &bytes),
				 2);
		assert_memory_equal(data, "he", 2);
		assert_int_equal(bytes, address_bytes);
		assert_int_equal(rsendto(server, "", 0, 0, (struct sockaddr *)&from, bytes), 0);
		assert_int_equal(rrecv(client, data, sizeof(data), 0), 0);
	}
	assert_int_equal(rrecv(server, data, sizeof(data), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(server), 0);
}

static void test_what_there_is_not_is_refused(void **state)
{
	static const struct {
		int domain, type, protocol, error;
	} rows[] = {
		{AF_UNIX, SOCK_STREAM, 0, EAFNOSUPPORT},
		{AF_INET, SOCK_RAW, 0, EPROTONOSUPPORT},
		{AF_INET, SOCK_STREAM, IPPROTO_UDP, EPROTONOSUPPORT},
	};
	char byte = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(rsocket(rows[i].domain, rows[i].type, rows[i].protocol), -1);
		assert_int_equal(errno, rows[i].error);
	}
	assert_int_equal(rread(STDIN_FILENO, &byte, 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(rclose(-1), -1);
	assert_int_equal(errno, EBADF);
}

/* --- listeners ------------------------------------------------------------------------------- */

/* As over TCP, where one thread connects to its own listener. */
static void test_a_connection_and_bytes_need_no_accept(void **state)
{
	struct sockaddr_storage where;
	const int listener = listen_on(&where);
	const int client = rsocket(address.ss_family, SOCK_STREAM, 0);
	char text[8] = "";
	int server;

	(void)state;
	assert_int_equal(wait_for(listener, POLLIN, 0), 0);
	assert_int_equal(rconnect(client, (struct sockaddr *)&where, address_bytes), 0);
	assert_int_equal(wait_for(listener, POLLIN, 5000), POLLIN);
	assert_int_equal(rsend(client, "hello", 5, 0), 5);
	server = raccept(listener, NULL, NULL);
	assert_true(server >= 0);
	assert_int_equal(rrecv(server, text, 5, MSG_WAITALL), 5);
	assert_string_equal(text, "hello");
	assert_int_equal(wait_for(listener, POLLIN, 0), 0);
	rclose(client);
	rclose(server);
	rclose(listener);
}

/* A backlog of 1 lets two clients wait, as listen(2) of Linux does; room brings in the next one. */
static void test_the_backlog_is_the_listeners(void **state)
{
	struct sockaddr_storage where;
	socklen_t bytes = sizeof(where);
	const int listener = rsocket(address.ss_family, SOCK_STREAM, 0);
	int clients[3], servers[3];

	(void)state;
	assert_int_equal(rbind(listener, (struct sockaddr *)&address, address_bytes), 0);
	assert_int_equal(rlisten(listener, 1), 0);
	assert_int_equal(rgetsockname(listener, (struct sockaddr *)&where, &bytes), 0);
	for (size_t i = 0; i < 3; i++) {
		clients[i] = begin_to_connect(&where);
		assert_int_equal(wait_for(clients[i], POLLOUT, i < 2 ? 5000 : 300),
				 i < 2 ? POLLOUT : 0);
	}
	for (size_t i = 0; i < 3; i++) {
		servers[i] = raccept(listener, NULL, NULL);
		assert_true(servers[i] >= 0);
		assert_int_equal(wait_for(clients[i], POLLOUT, 5000), POLLOUT);
	}
	for (size_t i = 0; i < 3; i++) {
		rclose(clients[i]);
		rclose(servers[i]);
	}
	rclose(listener);
}

/* Its port is free at once, and those who were not accepted learn of it. */
static void test_a_closed_listener_lets_go_of_all(void **state)
{
	struct sockaddr_storage where;
	const int listener = listen_on(&where);
	const int client = begin_to_connect(&where);
	int again = rsocket(address.ss_family, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(wait_for(client, POLLOUT, 5000), POLLOUT);
	assert_int_equal(rclose(listener), 0);
	assert_true((wait_for(client, POLLIN, 5000) & (POLLIN | POLLHUP)) != 0);
	assert_int_equal(rbind(again, (struct sockaddr *)&where, address_bytes), 0);
	assert_int_equal(rlisten(again, 0), 0);
	rclose(again);
	rclose(client);
}

static void take_address(const char *text)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		address.ss_family = AF_INET;
		address_bytes = sizeof(*v4);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		address.ss_family = AF_INET6;
		address_bytes = sizeof(*v6);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names_are_those_of_the_ends),
		TEST(test_names_can_be_measured),
		TEST(test_vectors_and_peeking),
		TEST(test_time_runs_out),
		TEST(test_half_a_connection_goes_on),
		TEST(test_files_and_rsockets_are_polled_together),
		TEST(test_a_reader_and_a_writer_on_each_end),
		TEST(test_the_end_wakes_all_who_wait),
		TEST(test_cancelled_threads_leave_the_rest),
		TEST(test_asynchronously_cancelled_threads_leave_the_rest),
		TEST(test_closing_wakes_who_reads),
		TEST(test_signal_handlers_close),
		TEST(test_options_are_kept),
		TEST(test_the_route_is_told),
		TEST(test_a_child_leaves_the_connection_alone),
		TEST(test_a_child_keeps_its_own_alive),
		cmocka_unit_test(test_a_connection_and_bytes_need_no_accept),
		cmocka_unit_test(test_the_backlog_is_the_listeners),
		cmocka_unit_test(test_a_closed_listener_lets_go_of_all),
		cmocka_unit_test(test_datagrams_keep_their_bounds),
		cmocka_unit_test(test_what_there_is_not_is_refused),
	};

	take_address(argc == 2 ? argv[1] : "");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
