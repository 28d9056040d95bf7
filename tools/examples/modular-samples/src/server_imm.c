/* SPDX-License-Identifier: MIT */
/*
 * Example 2, the server: a WRITE with immediate consumes one of its receives, whose completion has
 * the number of the message in the buffer. The server verifies the message, and SENDs back the
 * result.
 */
#include <arpa/inet.h>

#include "common.h"
#include "imm_reply.h"
#include "rdma_builders.h"
#include "rdma_mem.h"
#include "rdma_ops.h"
#include "server_loop.h"

struct transfer {
	struct rdma_ctx *ctx;
	const struct private_data *hello;
	uint32_t places; /* for messages, in the buffer */
	struct rdma_buffer buffer;
	struct rdma_buffer reply;
	bool is_replying; /* the reply's memory is the RNIC's until the SEND completes */
};

static uint32_t count_places(const struct private_data *hello, uint32_t bytes)
{
	const uint32_t places = bytes / hello->bytes;

	return places < RECV_DEPTH ? places : RECV_DEPTH;
}

static int prepare(struct transfer *transfer, uint32_t bytes)
{
	struct rdma_ctx *ctx = transfer->ctx;

	if (build_all(ctx) != 0 ||
	    mem_register(ctx, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
			 &transfer->buffer) != 0 ||
	    mem_register(ctx, sizeof(struct imm_reply), 0, &transfer->reply) != 0)
		return -1;
	/*
	 * Post receives before the client can send: the client would have to send a message without
	 * a receive again.
	 */
	for (uint32_t i = 0; i < transfer->places; i++) {
		if (post_recv(ctx, i, NULL, 0, 0) != 0)
			return -1;
	}
	return 0;
}

static bool is_message(const struct transfer *transfer, const struct ibv_wc *completion,
		       uint32_t number)
{
	if (completion->opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
	    (completion->wc_flags & IBV_WC_WITH_IMM) && ntohl(completion->imm_data) == number &&
	    completion->byte_len == transfer->hello->bytes)
		return true;
	LOG("message %u did not come, but operation %d, %u bytes, immediate %u", number,
	    completion->opcode, completion->byte_len, ntohl(completion->imm_data));
	return false;
}

/* The last SEND may complete after the client's next message. */
static int take_message(struct transfer *transfer, uint32_t number)
{
	struct ibv_wc completion;
	bool is_here = false;

	while (!is_here || transfer->is_replying) {
		if (wait_completion(transfer->ctx, &completion) != 0)
			return -1;
		if (completion.opcode == IBV_WC_SEND && transfer->is_replying)
			transfer->is_replying = false;
		else if (!is_here && is_message(transfer, &completion, number))
			is_here = true;
		else
			return -1;
	}
	return post_recv(transfer->ctx, number, NULL, 0, 0);
}

static int reply(struct transfer *transfer, uint32_t number, bool is_verified)
{
	const struct imm_reply reply = imm_reply_make(number, is_verified);

	memcpy(transfer->reply.bytes, &reply, sizeof(reply));
	transfer->is_replying = true;
	return post_send(transfer->ctx, number, &transfer->reply, 0, sizeof(reply));
}

static int converse(struct transfer *transfer)
{
	const struct private_data *hello = transfer->hello;
	struct cm_notice notice;

	for (uint32_t i = 0; i < hello->messages; i++) {
		const size_t at = (size_t)(i % transfer->places) * hello->bytes;
		bool is_verified;

		if (take_message(transfer, i) != 0)
			return -1;
		is_verified =
			mem_verify(transfer->buffer.bytes + at, hello->bytes, hello->seed + i);
		if (reply(transfer, i, is_verified) != 0 || !is_verified)
			return -1;
	}
	LOG("%u messages of %u bytes, told by their immediate data: verified", hello->messages,
	    hello->bytes);
	/*
	 * A client that disconnects has all replies, which the last SEND's completion could not
	 * prove.
	 */
	return cm_wait(transfer->ctx, RDMA_CM_EVENT_DISCONNECTED, &notice);
}

static int serve(struct rdma_ctx *ctx, const struct cm_notice *request,
		 const struct private_data *hello, const struct sample_options *options)
{
	struct transfer transfer = {
		.ctx = ctx,
		.hello = hello,
		.places = count_places(hello, options->bytes),
	};
	struct private_data answer = {
		.sample = SAMPLE_IMMEDIATE,
		.bytes = options->bytes,
		.messages = transfer.places,
	};
	int result = -1;

	if (prepare(&transfer, options->bytes) != 0)
		goto release;
	answer.address = (uintptr_t)transfer.buffer.bytes;
	answer.remote_key = transfer.buffer.mr->rkey;
	if (cm_accept(ctx, request, &answer) == 0) {
		result = converse(&transfer);
		cm_disconnect(ctx);
	}
release:
	mem_release(&transfer.reply);
	mem_release(&transfer.buffer);
	return result;
}

int main(int argc, char **argv)
{
	struct sample_options options;

	options_of_server(argc, argv, "7472", &options);
	return server_run(&options, SAMPLE_IMMEDIATE, serve);
}
