/* SPDX-License-Identifier: MIT */
/*
 * Both ends of connections by <rnic/connection.h>, as a program would use it.
 *
 *	context_program serve ADDRESS PORT
 *	context_program SCENARIO ADDRESS PORT
 *
 * The server gives every connection a thread. It advertises a region, reads the one that the client
 * advertises and answers with the sum of its bytes, and then sends back every message until the
 * client disconnects. Each scenario is a client; it prints what failed and exits with 1, or exits
 * with 0. "survive" is for what happens to its peer meanwhile: it says when it is ready for that.
 */
#include "tests/interop/apis/context_check.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGION_BYTES   (UINT32_C(1) << 20)
#define MESSAGE_BYTES  4096
#define RECEIVES       32
#define CONTEXTS       4
#define WRITE_COUNT    1000
#define MESSAGE_ROUNDS 200
#define READ_WRITE     (IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ)

static const char *address;
static uint16_t port;

static uint8_t pattern(uint32_t position, uint32_t seed)
{
	return (uint8_t)(position * 7 + (position >> 8) + seed);
}

static void fill(struct iw_lmr *lmr, uint32_t seed)
{
	for (uint32_t i = 0; i < lmr->length; i++)
		((uint8_t *)lmr->address)[i] = pattern(i, seed);
}

static uint64_t sum_of(const void *bytes, size_t length)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < length; i++)
		sum = sum * 31 + ((const uint8_t *)bytes)[i];
	return sum;
}

/* --- server ---------------------------------------------------------------------------------- */

/* Reads what the client advertised and tells it the sum. */
static int answer_advert(struct iw_ctx_conn *ctx, struct iw_lmr *region)
{
	struct iw_rmr remote;
	struct iw_wc wc;
	uint64_t sum;
	int error = iw_wait_recv_adv(&remote, ctx);

	if (error != 0)
		return error;
	error = post_read_lmr(region, 0, &remote, 0, remote.length, IW_SEND_SIGNALED, ctx);
	if (error == 0)
		error = await_completions(IW_SCQ, 1, &wc, ctx);
	if (error != 0)
		return error;
	sum = sum_of(region->address, remote.length);
	memcpy(region->address, &sum, sizeof(sum));
	error = post_send_lmr(region, 0, sizeof(sum), IW_SEND_SIGNALED, ctx);
	return error != 0 ? error : await_completions(IW_SCQ, 1, &wc, ctx);
}

/* Sends back what comes, in two pieces, and makes its place ready for the next message. */
static int echo(struct iw_ctx_conn *ctx, struct iw_lmr *messages)
{
	for (uint64_t count = 0;; count++) {
		const size_t offset = count % RECEIVES * MESSAGE_BYTES;
		struct iw_sge pieces[2] = {{messages, offset, 0}, {messages, 0, 0}};
		const struct iw_sgl sgl = {pieces, 2};
		struct iw_wc wc;
		int error = await_completions(IW_RCQ, 1, &wc, ctx);

		if (error != 0)
			return error;
		REQUIRE_TRUE(wc.wr_id == count);
		pieces[0].length = wc.byte_len / 2;
		pieces[1].offset = offset + wc.byte_len / 2;
		pieces[1].length = wc.byte_len - wc.byte_len / 2;
		error = post_send_sgl(&sgl, IW_SEND_SIGNALED, ctx);
		if (error == 0)
			error = await_completions(IW_SCQ, 1, &wc, ctx);
		if (error == 0)
			error = post_recv_lmr(messages, offset, MESSAGE_BYTES, ctx);
		if (error != 0)
			return error;
	}
}

static int serve(struct iw_ctx_conn *ctx, struct iw_lmr *region, struct iw_lmr *messages)
{
	int error = iw_accept("welcome", 8, ctx);

	if (error == 0)
		error = iw_post_send_adv(region, ctx);
	if (error == 0)
		error = answer_advert(ctx, region);
	return error != 0 ? error : echo(ctx, messages);
}

static void *serve_one(void *argument)
{
	struct iw_ctx_conn *ctx = argument;
	struct iw_lmr *region, *messages;
	int error;

	REQUIRE(iw_lmr_create(REGION_BYTES, READ_WRITE, &region, ctx));
	REQUIRE(iw_lmr_create((size_t)RECEIVES * MESSAGE_BYTES, IW_ACCESS_LOCAL_WRITE, &messages,
			      ctx));
	REQUIRE(iw_post_recv_adv(ctx));
	for (size_t i = 0; i < RECEIVES; i++)
		REQUIRE(post_recv_lmr(messages, i * MESSAGE_BYTES, MESSAGE_BYTES, ctx));
	error = serve(ctx, region, messages);
	printf("connection ends: %s, ", strerror(-error));
	error = iw_await_disconnect(ctx);
	printf("then %s\n", strerror(-error));
	REQUIRE(iw_lmr_destroy(messages, true));
	REQUIRE(iw_lmr_destroy(region, true));
	iw_ctx_free(ctx);
	return NULL;
}

static void run_server(void)
{
	struct iw_ctx_conn *listener = NULL;
	int error;

	REQUIRE(iw_open(address, port, 0, &listener));
	REQUIRE_TRUE(iw_ctx_port(listener) == port);
	for (;;) {
		struct iw_ctx_conn *ctx = NULL;
		pthread_t thread;

		error = iw_listen(listener, &ctx);
		if (error != 0)
			break;
		REQUIRE_TRUE(pthread_create(&thread, NULL, serve_one, ctx) == 0);
		pthread_detach(thread);
	}
	fprintf(stderr, "the server ends: %s\n", strerror(-error));
	exit(1);
}

/* --- clients --------------------------------------------------------------------------------- */

struct client {
	struct iw_ctx_conn *ctx;
	struct iw_lmr *region;
	struct iw_lmr *copy;
	struct iw_rmr remote;
};

static void client_open(struct client *client, struct iw_pd *pd)
{
	static const struct iw_qp_capacity capacity = {RECEIVES, RECEIVES, 3, 2};

	REQUIRE(iw_ctx_alloc(address, port, &capacity, pd, &client->ctx));
	iw_ctx_set_timeout(client->ctx, WAIT_MS);
	REQUIRE(iw_lmr_create(REGION_BYTES, READ_WRITE, &client->region, client->ctx));
	REQUIRE(iw_lmr_register(malloc(REGION_BYTES), REGION_BYTES, READ_WRITE, &client->copy,
				client->ctx));
}

static void client_close(struct client *client)
{
	REQUIRE(iw_lmr_destroy(client->region, true));
	REQUIRE(iw_lmr_destroy(client->copy, true));
	iw_ctx_free(client->ctx);
}

/* Connects and exchanges advertisements, as the server wants it. */
static void client_connect(struct client *client)
{
	struct iw_ctx_conn *ctx = client->ctx;
	uint64_t sum;
	struct iw_wc wc;
	size_t length;

	fill(client->region, 1);
	memset(client->copy->address, 0, client->copy->length);
	REQUIRE(iw_post_recv_adv(ctx));
	REQUIRE(post_recv_lmr(client->copy, 0, sizeof(sum), ctx));
	REQUIRE(iw_connect("hello", 6, ctx));
	EXPECT(-EISCONN, iw_connect(NULL, 0, ctx));
	REQUIRE_TRUE(strcmp(iw_peer_data(ctx, &length), "welcome") == 0 && length >= 8);
	REQUIRE(iw_wait_recv_adv(&client->remote, ctx));
	EXPECT(-EINVAL, iw_wait_recv_adv(&client->remote, ctx));
	REQUIRE_TRUE(client->remote.length == REGION_BYTES);
	REQUIRE(iw_post_send_adv(client->region, ctx));
	REQUIRE(await_completions(IW_RCQ, 1, &wc, ctx));
	memcpy(&sum, client->copy->address, sizeof(sum));
	REQUIRE_TRUE(wc.byte_len == sizeof(sum) && wc.opcode == RNIC_WC_RECV);
	REQUIRE_TRUE(sum == sum_of(client->region->address, REGION_BYTES));
}

static void write_and_read(struct client *client)
{
	struct iw_ctx_conn *ctx = client->ctx;
	const struct iw_sge gather[] = {
		{client->region, 10, 100}, {client->region, 5000, 0}, {client->region, 400, 50}};
	const struct iw_sge scatter[] = {{client->copy, 0, 70}, {client->copy, 300, 80}};
	const uint8_t *from = client->region->address;
	const uint8_t *to = client->copy->address;
	struct iw_wc wc[2];

	REQUIRE(post_write_lmr(client->region, 0, &client->remote, 0, REGION_BYTES, 0, ctx));
	REQUIRE(post_read_lmr(client->copy, 0, &client->remote, 0, REGION_BYTES, IW_SEND_SIGNALED,
			      ctx));
	EXPECT(-EINVAL, await_completions(IW_SCQ, 2, wc, ctx));
	REQUIRE(await_completions(IW_SCQ, 1, wc, ctx));
	REQUIRE_TRUE(wc[0].opcode == RNIC_WC_RDMA_READ && wc[0].byte_len == REGION_BYTES);
	REQUIRE_TRUE(memcmp(from, to, REGION_BYTES) == 0);

	memset(client->copy->address, 0, 1000);
	REQUIRE(post_write_sgl(&(struct iw_sgl){gather, 3}, &client->remote, 77, IW_SEND_SIGNALED,
			       ctx));
	REQUIRE(post_read_sgl(&(struct iw_sgl){scatter, 2}, &client->remote, 77,
			      IW_SEND_SIGNALED | IW_SEND_FENCE, ctx));
	REQUIRE(await_completions(IW_SCQ, 2, wc, ctx));
	REQUIRE_TRUE(wc[0].opcode == RNIC_WC_RDMA_WRITE && wc[1].opcode == RNIC_WC_RDMA_READ);
	REQUIRE_TRUE(memcmp(from + 10, to, 70) == 0 && memcmp(from + 80, to + 300, 30) == 0);
	REQUIRE_TRUE(memcmp(from + 400, to + 330, 50) == 0 && to[70] == 0 && to[380] == 0);
}

/* Far more requests than the queue holds, none of them awaited. */
static void flood(struct client *client)
{
	struct iw_ctx_conn *ctx = client->ctx;
	struct iw_wc wc;

	fill(client->region, 2);
	for (uint32_t i = 0; i < WRITE_COUNT; i++)
		REQUIRE(post_write_lmr(client->region, i * 64, &client->remote, i * 64, 64, 0,
				       ctx));
	REQUIRE(post_read_lmr(client->copy, 0, &client->remote, 0, WRITE_COUNT * 64,
			      IW_SEND_SIGNALED, ctx));
	REQUIRE(await_completions(IW_SCQ, 1, &wc, ctx));
	REQUIRE_TRUE(memcmp(client->region->address, client->copy->address, WRITE_COUNT * 64) == 0);
	for (uint32_t i = 0; i < RECEIVES; i++)
		REQUIRE(post_write_lmr(client->region, 0, &client->remote, 0, 8,
				       IW_SEND_SIGNALED | IW_SEND_INLINE, ctx));
	EXPECT(-ENOMEM,
	       post_write_lmr(client->region, 0, &client->remote, 0, 8, IW_SEND_SIGNALED, ctx));
	for (uint32_t i = 0; i < RECEIVES; i++)
		REQUIRE(await_completions(IW_SCQ, 1, &wc, ctx));
}

static void messages(struct client *client)
{
	struct iw_ctx_conn *ctx = client->ctx;
	struct iw_wc wc;

	for (uint32_t i = 0; i < MESSAGE_ROUNDS; i++) {
		const uint32_t length = i * 37 % (MESSAGE_BYTES + 1);
		const struct iw_sge place[] = {{client->copy, 0, length / 3},
					       {client->copy, length / 3, MESSAGE_BYTES}};

		REQUIRE(post_recv_sgl(&(struct iw_sgl){place, 2}, ctx));
		REQUIRE(post_send_lmr(client->region, i, length, 0, ctx));
		REQUIRE(await_completions(IW_RCQ, 1, &wc, ctx));
		REQUIRE_TRUE(wc.byte_len == length);
		REQUIRE_TRUE(memcmp((uint8_t *)client->region->address + i, client->copy->address,
				    length) == 0);
	}
}

/* Contexts are as new after their end, so all of it happens twice in one. */
static void run_transfer(void)
{
	struct client client;

	client_open(&client, NULL);
	for (unsigned i = 0; i < 2; i++) {
		client_connect(&client);
		write_and_read(&client);
		flood(&client);
		messages(&client);
		REQUIRE(iw_disconnect(client.ctx));
		EXPECT(-ENOTCONN, iw_disconnect(client.ctx));
	}
	client_close(&client);
}

static void *transfer_in_thread(void *pd)
{
	struct client client;

	client_open(&client, pd);
	client_connect(&client);
	write_and_read(&client);
	messages(&client);
	REQUIRE(iw_disconnect(client.ctx));
	client_close(&client);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[CONTEXTS];
	struct iw_pd *pd;

	REQUIRE(iw_pd_alloc(&pd));
	for (unsigned i = 0; i < CONTEXTS; i++)
		REQUIRE_TRUE(pthread_create(&threads[i], NULL, transfer_in_thread,
					    i % 2 == 0 ? pd : NULL) == 0);
	for (unsigned i = 0; i < CONTEXTS; i++)
		pthread_join(threads[i], NULL);
	iw_pd_free(pd);
}

/* A region of one context, used with another of the same protection domain, and of another. */
static void run_shared(void)
{
	struct client first, second, stranger;
	struct iw_pd *pd;
	struct iw_wc wc;

	REQUIRE(iw_pd_alloc(&pd));
	client_open(&first, pd);
	client_open(&second, pd);
	client_open(&stranger, NULL);
	iw_pd_free(pd);
	client_connect(&first);
	client_connect(&second);
	REQUIRE(post_write_lmr(first.region, 0, &second.remote, 0, 4096, IW_SEND_SIGNALED,
			       second.ctx));
	REQUIRE(await_completions(IW_SCQ, 1, &wc, second.ctx));
	EXPECT(-EINVAL, post_write_lmr(stranger.region, 0, &second.remote, 0, 4096, 0, second.ctx));
	REQUIRE(iw_disconnect(second.ctx));
	REQUIRE(iw_disconnect(first.ctx));
	client_close(&first);
	client_close(&second);
	client_close(&stranger);
}

/* --- failures -------------------------------------------------------------------------------- */

/* What was posted behind a request that failed is flushed, and the context can connect again. */
static void expect_failure(struct client *client, uint8_t status)
{
	struct iw_ctx_conn *ctx = client->ctx;
	struct iw_wc wc[2];

	EXPECT(-EREMOTEIO, await_completions(IW_SCQ, 1, wc, ctx));
	REQUIRE_TRUE(wc[0].status == status);
	EXPECT(-ENOTCONN, post_send_lmr(client->region, 0, 8, 0, ctx));
	EXPECT(-ENOTCONN, iw_post_recv_adv(ctx));
	REQUIRE(iw_disconnect(ctx));
}

static void run_wrong(void)
{
	struct client client;
	struct iw_rmr wrong;
	struct iw_lmr *read_only;

	client_open(&client, NULL);
	EXPECT(-ENOTCONN, post_send_lmr(client.region, 0, 8, 0, client.ctx));
	client_connect(&client);
	EXPECT(-EINVAL, post_write_lmr(client.region, REGION_BYTES - 4, &client.remote, 0, 8, 0,
				       client.ctx));
	EXPECT(-EINVAL, post_write_lmr(client.region, 0, &client.remote, REGION_BYTES - 4, 8, 0,
				       client.ctx));
	EXPECT(-EINVAL, post_send_lmr(client.region, 0, 65, IW_SEND_INLINE, client.ctx));
	REQUIRE(iw_lmr_create(64, 0, &read_only, client.ctx));
	EXPECT(-EACCES, post_recv_lmr(read_only, 0, 64, client.ctx));
	REQUIRE(iw_lmr_destroy(read_only, true));

	wrong = client.remote;
	wrong.rkey ^= 0x5500;
	REQUIRE(post_write_lmr(client.region, 0, &wrong, 0, 64, IW_SEND_SIGNALED, client.ctx));
	expect_failure(&client, RNIC_WC_REM_ACCESS_ERR);

	client_connect(&client);
	wrong = client.remote;
	wrong.length += 8;
	REQUIRE(post_read_lmr(client.copy, 0, &wrong, REGION_BYTES, 8, 0, client.ctx));
	REQUIRE(post_send_lmr(client.region, 0, 8, IW_SEND_SIGNALED, client.ctx));
	expect_failure(&client, RNIC_WC_REM_ACCESS_ERR);

	client_connect(&client);
	REQUIRE(post_send_lmr(client.region, 0, MESSAGE_BYTES + 1, IW_SEND_SIGNALED, client.ctx));
	expect_failure(&client, RNIC_WC_REM_INV_REQ_ERR);

	client_connect(&client);
	write_and_read(&client);
	REQUIRE(iw_disconnect(client.ctx));
	client_close(&client);
}

static void run_refused(void)
{
	struct client client;

	client_open(&client, NULL);
	REQUIRE(iw_post_recv_adv(client.ctx));
	EXPECT(-ECONNREFUSED, iw_connect(NULL, 0, client.ctx));
	EXPECT(-ECONNREFUSED, iw_connect(NULL, 0, client.ctx));
	client_close(&client);
}

/*
 * Waits for a message that never comes. Whatever ends the connection, or this end's daemon, must
 * end the wait; then it connects again as soon as somebody listens there.
 */
static void run_survive(void)
{
	struct client client;
	struct iw_wc wc;
	int error;

	client_open(&client, NULL);
	client_connect(&client);
	REQUIRE(post_recv_lmr(client.copy, 0, 64, client.ctx));
	puts("ready");
	fflush(stdout);
	error = await_completions(IW_RCQ, 1, &wc, client.ctx);
	REQUIRE_TRUE(error == -EREMOTEIO || error == -ENODEV);
	iw_disconnect(client.ctx);
	printf("lost: %s\n", strerror(-error));
	fflush(stdout);
	if (error == -ENODEV) {
		client_close(&client);
		do
			error = iw_ctx_alloc(address, port, NULL, NULL, &client.ctx);
		while (error == -ECONNREFUSED || error == -ENOENT || error == -ENODEV);
		REQUIRE(error);
		iw_ctx_free(client.ctx);
		client_open(&client, NULL);
	}
	do
		error = iw_connect(NULL, 0, client.ctx);
	while (error == -ECONNREFUSED || error == -ETIMEDOUT);
	REQUIRE(error);
	REQUIRE(iw_disconnect(client.ctx));
	client_connect(&client);
	write_and_read(&client);
	REQUIRE(iw_disconnect(client.ctx));
	client_close(&client);
}

/* Writes on and on, until the server is no more. */
static void run_write_until_lost(void)
{
	struct client client;
	struct iw_wc wc;
	int error;

	client_open(&client, NULL);
	client_connect(&client);
	puts("ready");
	fflush(stdout);
	do {
		error = post_write_lmr(client.region, 0, &client.remote, 0, REGION_BYTES,
				       IW_SEND_SIGNALED, client.ctx);
		if (error == 0)
			error = await_completions(IW_SCQ, 1, &wc, client.ctx);
	} while (error == 0);
	REQUIRE_TRUE(error == -EREMOTEIO || error == -ENOTCONN);
	iw_disconnect(client.ctx);
	client_close(&client);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{"serve", run_server},	  {"transfer", run_transfer},
	{"threads", run_threads}, {"shared", run_shared},
	{"wrong", run_wrong},	  {"refused", run_refused},
	{"survive", run_survive}, {"write-until-lost", run_write_until_lost},
};

int main(int argument_count, char **arguments)
{
	if (argument_count == 4) {
		address = arguments[2];
		port = (uint16_t)strtoul(arguments[3], NULL, 10);
		for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
			if (strcmp(scenarios[i].name, arguments[1]) == 0) {
				scenarios[i].run();
				return 0;
			}
		}
	}
	fprintf(stderr, "usage: context_program serve|SCENARIO ADDRESS PORT\n");
	return 2;
}
