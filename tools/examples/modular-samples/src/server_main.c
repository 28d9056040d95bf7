/* SPDX-License-Identifier: MIT */
/*
 * Example 1, the server: offers a buffer for WRITE and READ, and takes no part in either.
 *
 * When the client has disconnected, the buffer must hold its last WRITE.
 */
#include "common.h"
#include "rdma_builders.h"
#include "rdma_mem.h"
#include "server_loop.h"

static int serve(struct rdma_ctx *ctx, const struct cm_notice *request,
		 const struct private_data *hello, const struct sample_options *options)
{
	const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct private_data answer = {.sample = SAMPLE_ONE_SIDED, .seed = mem_new_seed()};
	struct rdma_buffer buffer = {0};
	struct cm_notice notice;
	int result = -1;

	if (build_all(ctx) != 0 || mem_register(ctx, options->bytes, access, &buffer) != 0)
		goto release;
	mem_fill(buffer.bytes, buffer.length, answer.seed);
	answer.address = (uintptr_t)buffer.bytes;
	answer.remote_key = buffer.mr->rkey;
	answer.bytes = options->bytes;
	answer.messages = 1;
	if (cm_accept(ctx, request, &answer) != 0)
		goto release;
	if (cm_wait(ctx, RDMA_CM_EVENT_DISCONNECTED, &notice) == 0 &&
	    mem_verify(buffer.bytes, hello->bytes, hello->seed + hello->messages - 1))
		result = 0;
	cm_disconnect(ctx);
release:
	mem_release(&buffer);
	return result;
}

int main(int argc, char **argv)
{
	struct sample_options options;

	options_of_server(argc, argv, "7471", &options);
	return server_run(&options, SAMPLE_ONE_SIDED, serve);
}
