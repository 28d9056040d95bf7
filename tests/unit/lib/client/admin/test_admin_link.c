/* SPDX-License-Identifier: MIT */
/*
 * A link to a daemon of this test, which answers late, with signals between, or never, and with
 * rows that are longer or shorter than the reader's, or no rows at all.
 */
#include "lib/client/admin/admin_link.h"

#include "tests/unit/thread_state.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SIGNALS 3 /* while the client waits for an answer */

struct row {
	uint64_t numbers[4];
};

struct daemon {
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int listening;
	atomic_int connection;
	pthread_t thread;
	pid_t client;	    /* the thread to which signals go; 0: none do */
	uint32_t row_bytes; /* of the reply to SHOW */
	uint32_t row_count;
	uint32_t announced; /* rows that the head of the reply claims */
	bool is_silent;	    /* from the first request on */
};

static struct daemon daemon_of_test;
static atomic_uint signals;

static void count_signal(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

/* ---- the daemon ---- */

/* Interrupts the client's system call, in which the client sleeps. */
static void interrupt_client(pid_t client)
{
	const unsigned before = atomic_load(&signals);

	while (!thread_is_asleep(client))
		sched_yield();
	assert_int_equal(syscall(SYS_tgkill, getpid(), client, SIGUSR1), 0);
	while (atomic_load(&signals) == before)
		sched_yield();
}

union reply {
	struct rnic_ctl_header header;
	uint8_t bytes[RNIC_CTL_MESSAGE_BYTES];
};

static size_t fill_rows(const struct daemon *daemon, uint8_t *payload)
{
	const struct rnic_ctl_show_reply head = {
		.kind = RNIC_SHOW_PDS,
		.row_count = daemon->announced,
		.row_bytes = daemon->row_bytes,
	};
	const size_t bytes = (size_t)daemon->row_count * daemon->row_bytes;

	assert_true(sizeof(struct rnic_ctl_header) + sizeof(head) + bytes <= sizeof(union reply));
	memcpy(payload, &head, sizeof(head));
	for (size_t i = 0; i < bytes; i++)
		payload[sizeof(head) + i] = (uint8_t)(i / daemon->row_bytes + 1);
	return sizeof(head) + bytes;
}

/* Answers requests until the client hangs up. */
static void *serve(void *argument)
{
	struct daemon *daemon = argument;
	const int fd = accept(daemon->listening, NULL, NULL);
	union reply reply;

	atomic_store(&daemon->connection, fd);
	while (recv(fd, &reply, sizeof(reply), 0) > 0) {
		size_t payload_bytes = sizeof(struct rnic_ctl_hello_reply);
		uint8_t *payload = reply.bytes + sizeof(reply.header);

		if (daemon->is_silent)
			continue;
		memset(payload, 0, payload_bytes);
		if (reply.header.operation == RNIC_CTL_SHOW)
			payload_bytes = fill_rows(daemon, payload);
		reply.header.version = RNIC_CTL_VERSION_MAX;
		reply.header.bytes = (uint32_t)(sizeof(reply.header) + payload_bytes);
		for (int i = 0; daemon->client != 0 && i < SIGNALS; i++)
			interrupt_client(daemon->client);
		if (send(fd, &reply, reply.header.bytes, MSG_NOSIGNAL) < 0)
			break;
	}
	return NULL;
}

static int daemon_start(void **state)
{
	struct daemon *daemon = &daemon_of_test;
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*daemon = (struct daemon){.row_bytes = sizeof(struct row), .row_count = 3, .announced = 3};
	atomic_init(&daemon->connection, -1);
	snprintf(daemon->path, sizeof(daemon->path), "/tmp/rnic-admin-link-%d.sock", (int)getpid());
	memcpy(address.sun_path, daemon->path, sizeof(daemon->path));
	daemon->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(daemon->listening, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(daemon->listening, 1), 0);
	assert_int_equal(pthread_create(&daemon->thread, NULL, serve, daemon), 0);
	*state = daemon;
	return 0;
}

static int daemon_stop(void **state)
{
	struct daemon *daemon = *state;

	/* A test that has failed left the client connected. */
	shutdown(daemon->listening, SHUT_RDWR);
	shutdown(atomic_load(&daemon->connection), SHUT_RDWR);
	assert_int_equal(pthread_join(daemon->thread, NULL), 0);
	close(atomic_load(&daemon->connection));
	close(daemon->listening);
	unlink(daemon->path);
	return 0;
}

/* ---- tests ---- */

/* A call that a signal interrupts goes on. */
static void test_signals(void **state)
{
	const struct sigaction action = {.sa_handler = count_signal};
	struct daemon *daemon = *state;
	struct admin_link link;
	void *rows;
	size_t count;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	daemon->client = gettid();
	assert_int_equal(admin_link_open(&link, daemon->path, "test"), 0);
	assert_int_equal(admin_link_show(&link, RNIC_SHOW_PDS, sizeof(struct row), &rows, &count),
			 0);
	assert_int_equal(count, 3);
	assert_int_equal(atomic_load(&signals), 2 * SIGNALS);
	free(rows);
	admin_link_close(&link);
}

/* A daemon that does not answer is an error, after as long as the program wants to wait. */
static void test_silence(void **state)
{
	struct daemon *daemon = *state;
	struct timespec begun, ended;
	struct admin_link link;

	daemon->is_silent = true;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	assert_int_equal(admin_link_open_within(&link, daemon->path, "test", 50), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	assert_true(ended.tv_sec - begun.tv_sec < ADMIN_LINK_TIMEOUT_S / 2);
	assert_non_null(strstr(link.reason, "no answer of the daemon"));
}

/* Shows rows of a daemon whose rows have other sizes, one page each. */
static void test_row_sizes(void **state)
{
	static const uint32_t sizes[] = {16, 24, 32, 40, 64, 128};
	struct daemon *daemon = *state;
	struct admin_link link;

	assert_int_equal(admin_link_open(&link, daemon->path, "test"), 0);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct row *rows;
		size_t count;

		daemon->row_bytes = sizes[i];
		daemon->row_count = daemon->announced = 50;
		assert_int_equal(admin_link_show(&link, RNIC_SHOW_PDS, sizeof(struct row),
						 (void **)&rows, &count),
				 0);
		assert_int_equal(count, 50);
		for (size_t j = 0; j < count; j++)
			for (size_t k = 0; k < COUNT_OF(rows[j].numbers); k++)
				assert_int_equal(rows[j].numbers[k],
						 8 * k < sizes[i] ? 0x0101010101010101 * (j + 1)
								  : 0);
		free(rows);
	}
	admin_link_close(&link);
}

/* Heads that announce other rows than follow, and rows that are too short to be any. */
static void test_wrong_rows(void **state)
{
	static const struct {
		uint32_t row_bytes, row_count, announced;
	} cases[] = {
		{32, 3, 4},	    {32, 3, 2},		{32, 3, UINT32_MAX}, {0, 0, 1},
		{0, 0, UINT32_MAX}, {UINT32_MAX, 0, 1}, {8, 4, 4},	     {1, 200, 200},
	};
	struct daemon *daemon = *state;
	struct admin_link link;

	assert_int_equal(admin_link_open(&link, daemon->path, "test"), 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		void *rows;
		size_t count;

		daemon->row_bytes = cases[i].row_bytes;
		daemon->row_count = cases[i].row_count;
		daemon->announced = cases[i].announced;
		assert_int_equal(
			admin_link_show(&link, RNIC_SHOW_PDS, sizeof(struct row), &rows, &count),
			-EPROTO);
	}
	admin_link_close(&link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_signals, daemon_start, daemon_stop),
		cmocka_unit_test_setup_teardown(test_silence, daemon_start, daemon_stop),
		cmocka_unit_test_setup_teardown(test_row_sizes, daemon_start, daemon_stop),
		cmocka_unit_test_setup_teardown(test_wrong_rows, daemon_start, daemon_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
