/* SPDX-License-Identifier: MIT */
#include "client_run.h"

#include <unistd.h>

#include "common.h"
#include "rdma_mem.h"
#include "sample_wait.h"

/* Each message in flight has its own place in the server's buffer. */
static bool is_enough(const struct private_data *hello, const struct private_data *offer)
{
	if (offer->sample == hello->sample &&
	    (uint64_t)hello->bytes * offer->messages <= offer->bytes)
		return true;
	LOG("the server offers sample %d, %u messages, %u bytes", (int)offer->sample,
	    offer->messages, offer->bytes);
	return false;
}

int client_run(const struct sample_options *options, enum sample sample, use_connection *use)
{
	const struct private_data hello = {
		.sample = sample,
		.seed = mem_new_seed(),
		.bytes = options->bytes,
		.messages = options->messages,
	};
	const int stop = stop_on_signals();
	struct rdma_ctx ctx = options_context(options, stop);
	struct private_data offer;
	int result = -1;

	if (stop < 0)
		return 1;
	if (cm_dial(&ctx, options->host, options->port, &hello, &offer) == 0) {
		if (is_enough(&hello, &offer))
			result = use(&ctx, &hello, &offer);
		else
			cm_disconnect(&ctx);
	}
	cm_close(&ctx);
	close(stop);
	return result == 0 ? 0 : 1;
}
