/* SPDX-License-Identifier: MIT */
/*
 * Example 2, the client: each WRITE with immediate puts a message into the server's buffer and
 * carries its number; the server's reply says whether the message was complete there.
 */
#include "client_run.h"
#include "common.h"
#include "imm_reply.h"
#include "rdma_ops.h"

enum {
	RECEIVE,
	WRITE,
};

/* The reply and the WRITE's own completion come in any order. */
static int wait_both(struct rdma_ctx *ctx)
{
	bool is_written = false, is_answered = false;
	struct ibv_wc completion;

	while (!is_written || !is_answered) {
		if (wait_completion(ctx, &completion) != 0)
			return -1;
		if (completion.wr_id == WRITE) {
			is_written = true;
		} else if (completion.byte_len == sizeof(struct imm_reply)) {
			is_answered = true;
		} else {
			LOG("a reply of %u bytes", completion.byte_len);
			return -1;
		}
	}
	return 0;
}

static int exchange(struct rdma_ctx *ctx, const struct rdma_buffer *message,
		    const struct rdma_buffer *reply, struct remote_range place, uint32_t number,
		    uint32_t seed)
{
	const struct imm_reply wanted = imm_reply_make(number, true);

	mem_fill(message->bytes, message->length, seed);
	if (post_recv(ctx, RECEIVE, reply, 0, sizeof(wanted)) != 0 ||
	    post_write_imm(ctx, WRITE, message, 0, (uint32_t)message->length, place, number) != 0 ||
	    wait_both(ctx) != 0)
		return -1;
	if (memcmp(reply->bytes, &wanted, sizeof(wanted)) == 0)
		return 0;
	LOG("the server does not confirm message %u", number);
	return -1;
}

static int send_messages(struct rdma_ctx *ctx, const struct private_data *hello,
			 const struct private_data *offer)
{
	struct rdma_buffer message = {0}, reply = {0};
	uint32_t number = 0;
	int result = -1;

	if (mem_register(ctx, hello->bytes, 0, &message) != 0 ||
	    mem_register(ctx, sizeof(struct imm_reply), IBV_ACCESS_LOCAL_WRITE, &reply) != 0)
		goto release;
	for (; number < hello->messages; number++) {
		const struct remote_range place = {
			.address = offer->address +
				   (uint64_t)(number % offer->messages) * hello->bytes,
			.key = offer->remote_key,
		};

		if (exchange(ctx, &message, &reply, place, number, hello->seed + number) != 0)
			goto release;
	}
	LOG("WRITE with immediate of %u bytes, %u times: the server has verified them",
	    hello->bytes, number);
	result = 0;
release:
	cm_disconnect(ctx);
	mem_release(&reply);
	mem_release(&message);
	return result;
}

int main(int argc, char **argv)
{
	struct sample_options options;

	options_of_client(argc, argv, "7472", &options);
	return client_run(&options, SAMPLE_IMMEDIATE, send_messages);
}
