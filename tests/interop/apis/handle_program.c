/* SPDX-License-Identifier: MIT */
/*
 * Both ends of connections by <rnic/rdma.h>, as a program would use it.
 *
 *	handle_program serve HOST PORT
 *	handle_program SCENARIO HOST PORT
 *
 * The server gives every connection a thread. It is sent where the client's region is, answers with
 * where its own is and with the sum of the client's, which it reads, and then sends back every
 * message until the connection fails. Each scenario is a client; it prints what failed and exits
 * with 1, or exits with 0. "survive" and "survive-polling" are for what happens to the peer
 * meanwhile: they say when they are ready for that.
 */
#include "tests/interop/apis/handle_check.h"

#include <pthread.h>
#include <stdbool.h>

#define REGION_BYTES  (UINT32_C(1) << 20)
#define MESSAGE_BYTES 4096
#define SLOTS	      32
#define WRITES	      2000
#define CLIENTS	      4
#define ROUNDS	      200

static const char *host;
static int port;

/* What the ends tell each other first. */
struct greeting {
	uint64 address;
	uint64 sum;
	uint32 rkey;
};

/* A connection's memory: the region that the peer may reach, and places for messages. */
struct memory {
	unsigned char *region;
	int region_mr;
	unsigned char *messages;
	int messages_mr;
};

static void open_memory(struct memory *memory)
{
	memory->region = calloc(1, REGION_BYTES);
	memory->messages = calloc(SLOTS, MESSAGE_BYTES);
	REQUIRE_TRUE(memory->region != NULL && memory->messages != NULL);
	memory->region_mr = REQUIRE(rdma_reg_mr(memory->region, REGION_BYTES, ALL_RIGHTS));
	memory->messages_mr = REQUIRE(
		rdma_reg_mr(memory->messages, SLOTS * MESSAGE_BYTES, RDMA_ACCESS_LOCAL_WRITE));
}

static void close_memory(struct memory *memory)
{
	REQUIRE(rdma_dereg_mr(memory->region_mr));
	REQUIRE(rdma_dereg_mr(memory->messages_mr));
	free(memory->region);
	free(memory->messages);
}

static uint64 sum_of(const unsigned char *bytes)
{
	uint64 sum = 0;

	for (uint32 i = 0; i < REGION_BYTES; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

static void fill(struct memory *memory, unsigned seed)
{
	for (uint32 i = 0; i < REGION_BYTES; i++)
		memory->region[i] = (unsigned char)(i * 7 + (i >> 8) + seed);
}

static struct greeting greeting_of(const struct memory *memory, uint64 sum)
{
	return (struct greeting){
		.address = (uintptr_t)memory->region,
		.sum = sum,
		.rkey = rdma_mr_rkey(memory->region_mr),
	};
}

/* --- server ---------------------------------------------------------------------------------- */

static bool await_one(int qp, struct rdma_wc *wc)
{
	return rdma_wait_cq(qp, wc, 1, -1) == 1 && wc->status == RDMA_WC_SUCCESS;
}

static bool answer_greeting(int qp, struct memory *memory)
{
	struct greeting greeting;
	struct rdma_wc wc;

	if (!await_one(qp, &wc))
		return false;
	memcpy(&greeting, memory->messages, sizeof(greeting));
	if (rdma_post_read(qp, memory->region_mr, 0, greeting.address, greeting.rkey,
			   REGION_BYTES) < 0 ||
	    !await_one(qp, &wc))
		return false;
	greeting = greeting_of(memory, sum_of(memory->region));
	memcpy(memory->messages, &greeting, sizeof(greeting));
	return rdma_post_send(qp, memory->messages_mr, sizeof(greeting)) >= 0 && await_one(qp, &wc);
}

/* There is one message under way at a time. */
static bool echo(int qp, const struct memory *memory)
{
	struct rdma_wc wc;

	return rdma_post_recv(qp, memory->messages_mr, 0, MESSAGE_BYTES) >= 0 &&
	       await_one(qp, &wc) && rdma_post_send(qp, memory->messages_mr, wc.byte_len) >= 0 &&
	       await_one(qp, &wc);
}

static void *serve(void *argument)
{
	const int qp = *(int *)argument;
	struct memory memory;
	long count = 0;

	free(argument);
	open_memory(&memory);
	if (rdma_post_recv(qp, memory.messages_mr, 0, MESSAGE_BYTES) >= 0 &&
	    answer_greeting(qp, &memory))
		while (echo(qp, &memory))
			count++;
	printf("a connection ends after %ld messages\n", count);
	rdma_destroy_qp(qp);
	close_memory(&memory);
	return NULL;
}

static void run_server(void)
{
	const int listener = REQUIRE(rdma_listen_host(host, port));
	int *qp;

	REQUIRE_TRUE(rdma_listener_port(listener) == port);
	REFUSED(EADDRINUSE, rdma_listen_host(host, port));
	for (;;) {
		pthread_t thread;

		qp = malloc(sizeof(*qp));
		REQUIRE_TRUE(qp != NULL);
		*qp = rdma_create_qp(SLOTS, SLOTS);
		if (*qp < 0)
			break;
		if (rdma_accept_qp(listener, *qp, -1) < 0) {
			if (errno != ECONNABORTED)
				break;
			rdma_destroy_qp(*qp);
			free(qp);
			continue;
		}
		REQUIRE_TRUE(pthread_create(&thread, NULL, serve, qp) == 0);
		pthread_detach(thread);
	}
	fprintf(stderr, "the server ends: %s\n", strerror(errno));
	exit(1);
}

/* --- clients --------------------------------------------------------------------------------- */

struct client {
	struct memory memory;
	struct greeting server;
	int qp;
	int next; /* request number */
};

static void send_and_receive(struct client *client, uint32 length)
{
	struct rdma_wc wc;
	int received = 0;

	REQUIRE_TRUE(rdma_post_recv(client->qp, client->memory.messages_mr, MESSAGE_BYTES,
				    MESSAGE_BYTES) == client->next);
	REQUIRE_TRUE(rdma_post_send(client->qp, client->memory.messages_mr, length) ==
		     client->next + 1);
	while (received < 2) {
		REQUIRE_TRUE(rdma_wait_cq(client->qp, &wc, 1, WAIT_MS) == 1);
		REQUIRE_TRUE(wc.status == RDMA_WC_SUCCESS);
		REQUIRE_TRUE(wc.wr_id == client->next + (wc.opcode == RDMA_WC_SEND));
		received++;
	}
	client->next += 2;
}

static void greet(struct client *client)
{
	struct memory *memory = &client->memory;
	const struct greeting greeting = greeting_of(memory, 0);

	fill(memory, 1);
	memcpy(memory->messages, &greeting, sizeof(greeting));
	client->next = 0;
	send_and_receive(client, sizeof(greeting));
	memcpy(&client->server, memory->messages + MESSAGE_BYTES, sizeof(client->server));
	REQUIRE_TRUE(client->server.sum == sum_of(memory->region));
}

static void client_connect(struct client *client)
{
	client->qp = REQUIRE(rdma_create_qp(SLOTS, SLOTS));
	REQUIRE(rdma_connect_host(client->qp, host, port, WAIT_MS));
	REFUSED(EISCONN, rdma_connect_host(client->qp, host, port, WAIT_MS));
	greet(client);
}

static void client_open(struct client *client)
{
	open_memory(&client->memory);
	client_connect(client);
}

static void client_close(struct client *client)
{
	REQUIRE(rdma_destroy_qp(client->qp));
	close_memory(&client->memory);
}

static void write_and_read(struct client *client)
{
	struct memory *memory = &client->memory;
	const struct greeting *server = &client->server;
	const uint64 sum = sum_of(memory->region);
	const int qp = client->qp;

	REQUIRE(rdma_post_write(qp, memory->region_mr, 0, server->address, server->rkey,
				REGION_BYTES));
	COMPLETES(RDMA_WC_SUCCESS, qp, client->next++);
	memset(memory->region, 0, REGION_BYTES);
	REQUIRE(rdma_post_read(qp, memory->region_mr, 0, server->address, server->rkey,
			       REGION_BYTES));
	REQUIRE_TRUE(COMPLETES(RDMA_WC_SUCCESS, qp, client->next++).byte_len == REGION_BYTES);
	REQUIRE_TRUE(sum_of(memory->region) == sum);
}

/* Many small writes, as many under way as there is room for. */
static void flood(struct client *client)
{
	const int qp = client->qp;
	struct rdma_wc wc[SLOTS];
	int posted = 0, done = 0;

	while (done < WRITES) {
		int count;

		while (posted < WRITES && rdma_post_write(qp, client->memory.region_mr, posted * 64,
							  client->server.address + posted * 64,
							  client->server.rkey, 64) >= 0)
			posted++;
		REQUIRE_TRUE(posted == WRITES || errno == EAGAIN);
		count = REQUIRE(rdma_wait_cq(qp, wc, SLOTS, WAIT_MS));
		for (int i = 0; i < count; i++)
			REQUIRE_TRUE(wc[i].status == RDMA_WC_SUCCESS &&
				     wc[i].wr_id == client->next + done + i);
		REQUIRE_TRUE(count > 0);
		done += count;
	}
	client->next += done;
}

static void exchange_messages(struct client *client)
{
	unsigned char *messages = client->memory.messages;

	for (uint32 i = 0; i < ROUNDS; i++) {
		const uint32 length = i * 37 % (MESSAGE_BYTES + 1);

		memset(messages, (int)i, length);
		send_and_receive(client, length);
		REQUIRE_TRUE(memcmp(messages, messages + MESSAGE_BYTES, length) == 0);
	}
}

static void run_transfer(void)
{
	struct client client;

	client_open(&client);
	write_and_read(&client);
	flood(&client);
	exchange_messages(&client);
	client_close(&client);
}

static void *transfer_in_thread(void *unused)
{
	run_transfer();
	return unused;
}

static void run_threads(void)
{
	pthread_t threads[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		REQUIRE_TRUE(pthread_create(&threads[i], NULL, transfer_in_thread, NULL) == 0);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
}

/* --- failures -------------------------------------------------------------------------------- */

/* `request` fails, what waits behind it too, and a new queue pair works again. */
static void expect_failure(struct client *client, int request, int status)
{
	const int behind = REQUIRE(rdma_post_send(client->qp, client->memory.messages_mr, 8));

	COMPLETES(status, client->qp, request);
	COMPLETES(RDMA_WC_GENERAL_ERR, client->qp, behind);
	REQUIRE(rdma_destroy_qp(client->qp));
	client_connect(client);
}

static void run_wrong(void)
{
	struct client client;
	const struct greeting *server = &client.server;
	int mr;

	client_open(&client);
	mr = client.memory.region_mr;
	expect_failure(&client,
		       rdma_post_write(client.qp, mr, 0, server->address, server->rkey ^ 0x5500, 8),
		       RDMA_WC_REM_ACCESS_ERR);
	expect_failure(&client,
		       rdma_post_write(client.qp, mr, 0, server->address + REGION_BYTES - 4,
				       server->rkey, 8),
		       RDMA_WC_REM_ACCESS_ERR);
	expect_failure(
		&client,
		rdma_post_read(client.qp, mr, 0, server->address + 8, server->rkey, REGION_BYTES),
		RDMA_WC_REM_ACCESS_ERR);
	expect_failure(&client, rdma_post_send(client.qp, mr, MESSAGE_BYTES + 1),
		       RDMA_WC_GENERAL_ERR);
	write_and_read(&client);
	client_close(&client);
}

static void run_refused(void)
{
	const int qp = REQUIRE(rdma_create_qp(SLOTS, SLOTS));

	REFUSED(ECONNREFUSED, rdma_connect_host(qp, host, port, WAIT_MS));
	REFUSED(ECONNREFUSED, rdma_connect_host(qp, host, port, WAIT_MS));
	REQUIRE_TRUE(rdma_connect_host(qp, "no-such-host.invalid", port, WAIT_MS) == -1);
	REQUIRE_TRUE(errno == ENOENT || errno == EAGAIN);
	REQUIRE(rdma_destroy_qp(qp));
}

/* Connects as soon as somebody listens there, and as there is a daemon. */
static void connect_patiently(struct client *client)
{
	int result;

	do
		client->qp = rdma_create_qp(SLOTS, SLOTS);
	while (client->qp < 0 && (errno == ECONNREFUSED || errno == ENOENT || errno == ENODEV));
	REQUIRE(client->qp);
	do
		result = rdma_connect_host(client->qp, host, port, -1);
	while (result < 0 && (errno == ECONNREFUSED || errno == ETIMEDOUT));
	REQUIRE(result);
}

/*
 * Waits for a message that never comes. Whatever ends the connection, or this end's daemon, must
 * end that.
 */
static void survive(bool is_polling)
{
	struct client client;
	struct rdma_wc wc;
	int result;

	client_open(&client);
	REQUIRE(rdma_post_recv(client.qp, client.memory.messages_mr, 0, 8));
	puts("ready");
	fflush(stdout);
	do
		result = is_polling ? rdma_poll_cq(client.qp, &wc, 1)
				    : rdma_wait_cq(client.qp, &wc, 1, -1);
	while (result == 0 && is_polling);
	REQUIRE_TRUE(result == 1 ? wc.status == RDMA_WC_GENERAL_ERR : errno == ENODEV);
	printf("lost: %s\n", result == 1 ? "the peer" : strerror(errno));
	fflush(stdout);
	client_close(&client);
	connect_patiently(&client);
	open_memory(&client.memory);
	greet(&client);
	write_and_read(&client);
	client_close(&client);
}

static void run_survive(void)
{
	survive(false);
}

static void run_survive_polling(void)
{
	survive(true);
}

/* Writes on and on, until the server is no more. */
static void run_write_until_lost(void)
{
	struct client client;
	struct rdma_wc wc;

	client_open(&client);
	puts("ready");
	fflush(stdout);
	do {
		REQUIRE(rdma_post_write(client.qp, client.memory.region_mr, 0,
					client.server.address, client.server.rkey, REGION_BYTES));
		REQUIRE_TRUE(rdma_wait_cq(client.qp, &wc, 1, WAIT_MS) == 1);
	} while (wc.status == RDMA_WC_SUCCESS);
	client_close(&client);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{"serve", run_server},
	{"transfer", run_transfer},
	{"threads", run_threads},
	{"wrong", run_wrong},
	{"refused", run_refused},
	{"survive", run_survive},
	{"survive-polling", run_survive_polling},
	{"write-until-lost", run_write_until_lost},
};

int main(int argument_count, char **arguments)
{
	if (argument_count == 4) {
		host = arguments[2];
		port = atoi(arguments[3]);
		for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
			if (strcmp(scenarios[i].name, arguments[1]) == 0) {
				scenarios[i].run();
				return 0;
			}
		}
	}
	fprintf(stderr, "usage: handle_program serve|SCENARIO HOST PORT\n");
	return 2;
}
