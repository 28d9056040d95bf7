/* SPDX-License-Identifier: MIT */
#include "server_loop.h"

#include <unistd.h>

#include "common.h"
#include "sample_wait.h"

static bool is_welcome(const struct cm_notice *request, enum sample sample, uint32_t bytes,
		       const char *name, struct private_data *hello)
{
	const int error = private_data_decode(request->private_data, request->private_bytes, hello);

	if (error != 0)
		LOG("%s is refused, its greeting: %s", name, strerror(-error));
	else if (hello->sample != sample)
		LOG("%s is refused: it runs the other sample", name);
	else if (hello->bytes > bytes)
		LOG("%s is refused: it wants %u bytes of %u", name, hello->bytes, bytes);
	else
		return true;
	return false;
}

/* Whether serving the client succeeded; `clients` counts the served ones. */
static bool take_client(const struct cm_notice *request, const struct sample_options *options,
			int stop, enum sample sample, serve_client *serve, uint32_t *clients)
{
	const struct private_data limits = {
		.sample = sample, .bytes = options->bytes, .messages = 1};
	struct rdma_ctx ctx = options_context(options, stop);
	struct private_data hello;
	char name[128];
	bool is_good;

	cm_peer_name(request->id, name, sizeof(name));
	if (!is_welcome(request, sample, options->bytes, name, &hello)) {
		cm_refuse(request->id, &limits);
		return true;
	}
	LOG("client %s: %u messages of %u bytes", name, hello.messages, hello.bytes);
	is_good = cm_adopt(&ctx, request) == 0 && serve(&ctx, request, &hello, options) == 0;
	cm_close(&ctx);
	LOG("client %s: %s", name, is_good ? "its data is verified" : "failed");
	(*clients)++;
	return is_good;
}

static bool wants_more(const struct rdma_ctx *listener, uint32_t most, uint32_t clients)
{
	return !is_stopping(listener) && (most == 0 || clients < most);
}

int server_run(const struct sample_options *options, enum sample sample, serve_client *serve)
{
	const int stop = stop_on_signals();
	struct rdma_ctx listener = options_context(options, stop);
	struct cm_notice request;
	uint32_t clients = 0;
	bool is_good = false;

	listener.timeout_ms = -1;
	if (stop < 0 || cm_listen(&listener, options->host, options->port) != 0)
		goto close;
	LOG("listens at port %u, with %u bytes", ntohs(rdma_get_src_port(listener.id)),
	    options->bytes);
	is_good = true;
	while (wants_more(&listener, options->clients, clients)) {
		if (cm_wait(&listener, RDMA_CM_EVENT_CONNECT_REQUEST, &request) == 0)
			is_good &= take_client(&request, options, stop, sample, serve, &clients);
		else
			break;
	}
	is_good &= !wants_more(&listener, options->clients, clients);
	LOG("clients served: %u", clients);
close:
	cm_close(&listener);
	if (stop >= 0)
		close(stop);
	return is_good ? 0 : 1;
}
