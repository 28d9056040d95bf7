/* SPDX-License-Identifier: MIT */
/* By <rnic/connection.h>: the caller awaits completions of each queue in turn. */
#include "tests/bench/queues_bench.h"

#include <errno.h>
#include <rnic/connection.h>

static struct iw_ctx_conn *ctx;
static struct iw_lmr *out, *in;

static void context_require(int error, const char *what)
{
	errno = -error;
	queues_require(error == 0, what);
}

static void post_receive(void)
{
	context_require(post_recv_lmr(in, 0, QUEUES_MESSAGE_BYTES, ctx), "post_recv_lmr");
}

static void make_memory(void)
{
	context_require(iw_lmr_create(QUEUES_MESSAGE_BYTES, IW_ACCESS_LOCAL_WRITE, &out, ctx),
			"iw_lmr_create");
	context_require(iw_lmr_create(QUEUES_MESSAGE_BYTES, IW_ACCESS_LOCAL_WRITE, &in, ctx),
			"iw_lmr_create");
	post_receive();
}

static void context_serve(uint16_t port)
{
	struct iw_ctx_conn *listener = NULL;

	context_require(iw_open(NULL, port, 0, &listener), "iw_open");
	queues_say_ready();
	context_require(iw_listen(listener, &ctx), "iw_listen");
	make_memory();
	context_require(iw_accept(NULL, 0, ctx), "iw_accept");
	iw_ctx_free(listener);
}

static void context_call(const char *host, uint16_t port)
{
	context_require(iw_ctx_alloc(host, port, NULL, NULL, &ctx), "iw_ctx_alloc");
	make_memory();
	context_require(iw_connect(NULL, 0, ctx), "iw_connect");
}

static void await(enum iw_cq_type queue, const char *what)
{
	struct iw_wc wc;

	context_require(await_completions(queue, 1, &wc, ctx), what);
}

static void context_send(bool is_last)
{
	*(uint64_t *)out->address = is_last;
	context_require(
		post_send_lmr(out, 0, QUEUES_MESSAGE_BYTES, IW_SEND_SIGNALED | IW_SEND_INLINE, ctx),
		"post_send_lmr");
	await(IW_SCQ, "the send");
}

static bool context_receive(void)
{
	bool is_last;

	await(IW_RCQ, "the receive");
	is_last = *(const uint64_t *)in->address != 0;
	if (!is_last)
		post_receive();
	return is_last;
}

static void context_close(void)
{
	iw_disconnect(ctx);
	iw_lmr_destroy(in, true);
	iw_lmr_destroy(out, true);
	iw_ctx_free(ctx);
}

const struct queues_way queues_context = {
	"context", context_serve, context_call, context_send, context_receive, context_close,
};
