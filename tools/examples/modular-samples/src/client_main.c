/* SPDX-License-Identifier: MIT */
/*
 * Example 1, the client: READs the server's bytes, WRITEs its own, and READs these back. Each
 * pattern must be there, byte for byte.
 */
#include "client_run.h"
#include "common.h"
#include "rdma_ops.h"

enum {
	FIRST_READ,
	WRITE,
	READ_BACK,
};

static int read_and_verify(struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *buffer,
			   struct remote_range from, uint32_t seed)
{
	struct ibv_wc completion;

	memset(buffer->bytes, 0, buffer->length);
	if (post_read(ctx, wr_id, buffer, 0, (uint32_t)buffer->length, from) != 0 ||
	    wait_completion_of(ctx, IBV_WC_RDMA_READ, &completion) != 0)
		return -1;
	return mem_verify(buffer->bytes, buffer->length, seed) ? 0 : -1;
}

static int write_pattern(struct rdma_ctx *ctx, const struct rdma_buffer *buffer,
			 struct remote_range to, uint32_t seed)
{
	struct ibv_wc completion;

	mem_fill(buffer->bytes, buffer->length, seed);
	if (post_write(ctx, WRITE, buffer, 0, (uint32_t)buffer->length, to) != 0)
		return -1;
	return wait_completion_of(ctx, IBV_WC_RDMA_WRITE, &completion);
}

static int read_write_read(struct rdma_ctx *ctx, const struct private_data *hello,
			   const struct private_data *offer)
{
	const struct remote_range theirs = {.address = offer->address, .key = offer->remote_key};
	struct rdma_buffer buffer = {0};
	int result = -1;

	if (mem_register(ctx, hello->bytes, IBV_ACCESS_LOCAL_WRITE, &buffer) != 0 ||
	    read_and_verify(ctx, FIRST_READ, &buffer, theirs, offer->seed) != 0)
		goto release;
	LOG("READ of %u bytes: verified", hello->bytes);
	for (uint32_t i = 0; i < hello->messages; i++) {
		if (write_pattern(ctx, &buffer, theirs, hello->seed + i) != 0 ||
		    read_and_verify(ctx, READ_BACK, &buffer, theirs, hello->seed + i) != 0)
			goto release;
	}
	LOG("WRITE of %u bytes and READ of them, %u times: verified", hello->bytes,
	    hello->messages);
	result = 0;
release:
	cm_disconnect(ctx);
	mem_release(&buffer);
	return result;
}

int main(int argc, char **argv)
{
	struct sample_options options;

	options_of_client(argc, argv, "7471", &options);
	return client_run(&options, SAMPLE_ONE_SIDED, read_write_read);
}
