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

struct session {
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

static int prepare(struct session *session, uint32_t bytes)
{
	struct rdma_ctx *ctx = session->ctx;

	if (build_all(ctx) != 0 ||
	    mem_register(ctx, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
			 &session->buffer) != 0 ||
	    mem_register(ctx, sizeof(struct imm_reply), 0, &session->reply) != 0)
		return -1;
	/*
	 * Post receives before the client can send: the client would have to send a message without
	 * a receive again.
	 */
	for (uint32_t i = 0; i < session->places; i++) {
		if (post_recv(ctx, i, NULL, 0, 0) != 0)
			return -1;
	}
	return 0;
}

static bool is_message(const struct session *session, const struct ibv_wc *completion,
		       uint32_t number)
{
	if (completion->opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
	    (completion->wc_flags & IBV_WC_WITH_IMM) && ntohl(completion->imm_data) == number &&
	    completion->byte_len == session->hello->bytes)
		return true;
	LOG("message %u did not come, but operation %d, %u bytes, immediate %u", number,
	    completion->opcode, completion->byte_len, ntohl(completion->imm_data));
	return false;
}

/* The last SEND may complete after the client's next message. */
static int take_message(struct session *session, uint32_t number)
{
	struct ibv_wc completion;
	bool is_here = false;

	while (!is_here || session->is_replying) {
		if (wait_completion(session->ctx, &completion) != 0)
			return -1;
		if (completion.opcode == IBV_WC_SEND && session->is_replying)
			session->is_replying = false;
		else if (!is_here && is_message(session, &completion, number))
			is_here = true;
		else
			return -1;
	}
	return post_recv(session->ctx, number, NULL, 0, 0);
}

static int reply(struct session *session, uint32_t number, bool is_verified)
{
	const struct imm_reply reply = imm_reply_make(number, is_verified);

	memcpy(session->reply.bytes, &reply, sizeof(reply));
	session->is_replying = true;
	return post_send(session->ctx, number, &session->reply, 0, sizeof(reply));
}

static int converse(struct session *session)
{
	const struct private_data *hello = session->hello;
	struct cm_notice notice;

	for (uint32_t i = 0; i < hello->messages; i++) {
		const size_t at = (size_t)(i % session->places) * hello->bytes;
		bool is_verified;

		if (take_message(session, i) != 0)
			return -1;
		is_verified = mem_verify(session->buffer.bytes + at, hello->bytes, hello->seed + i);
		if (reply(session, i, is_verified) != 0 || !is_verified)
			return -1;
	}
	LOG("%u messages of %u bytes, told by their immediate data: verified", hello->messages,
	    hello->bytes);
	/*
	 * A client that disconnects has all replies, which the last SEND's completion could not
	 * prove.
	 */
	return cm_wait(session->ctx, RDMA_CM_EVENT_DISCONNECTED, &notice);
}

static int serve(struct rdma_ctx *ctx, const struct cm_notice *request,
		 const struct private_data *hello, const struct sample_options *options)
{
	struct session session = {
		.ctx = ctx,
		.hello = hello,
		.places = count_places(hello, options->bytes),
	};
	struct private_data answer = {
		.sample = SAMPLE_IMMEDIATE,
		.bytes = options->bytes,
		.messages = session.places,
	};
	int result = -1;

	if (prepare(&session, options->bytes) != 0)
		goto release;
	answer.address = (uintptr_t)session.buffer.bytes;
	answer.remote_key = session.buffer.mr->rkey;
	if (cm_accept(ctx, request, &answer) == 0) {
		result = converse(&session);
		cm_disconnect(ctx);
	}
release:
	mem_release(&session.reply);
	mem_release(&session.buffer);
	return result;
}

int main(int argc, char **argv)
{
	struct sample_options options;

	options_of_server(argc, argv, "7472", &options);
	return server_run(&options, SAMPLE_IMMEDIATE, serve);
}
