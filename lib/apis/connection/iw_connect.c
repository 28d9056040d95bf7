/* SPDX-License-Identifier: MIT */
/* Connections: making, answering and ending them. */
#include "lib/apis/connection/iw_objects.h"
#include "lib/apis/dial/dial.h"

#include <errno.h>
#include <string.h>

#define DRAIN_NS UINT64_C(10000000000)

/* --- initiator ------------------------------------------------------------------------------- */

static bool is_unused(const struct iw_ctx_conn *ctx)
{
	return ctx->state == RNIC_IW_IDLE;
}

/* Opens a channel and holds the session, for events of the connection. */
static int open_events(struct iw_ctx_conn *ctx, struct iw_pd *pd)
{
	int error = rnic_dial_create_channel(pd->context, &ctx->cm_channel);

	if (error == 0)
		ctx->cm_pd = rnic_iw_pd_hold(pd);
	return error;
}

static struct rnic_dial_attempt iw_connect_attempt(struct iw_ctx_conn *ctx,
						   const struct rnic_cm_parameters *parameters)
{
	return (struct rnic_dial_attempt){
		.channel = ctx->cm_channel,
		.qp = ctx->qp,
		.parameters = parameters,
		.deadline_ns = rnic_iw_deadline_ns(ctx),
	};
}

static int iw_connect_dial(struct iw_ctx_conn *ctx, const void *priv_data, size_t priv_data_len)
{
	struct rnic_cm_parameters parameters;
	struct rnic_dial_attempt attempt;
	int error = rnic_iw_make_ready(ctx);

	if (error == 0)
		error = rnic_dial_parameters(ctx->qp, priv_data, priv_data_len, &parameters);
	if (error == 0)
		error = open_events(ctx, ctx->pd);
	if (error != 0)
		return error;
	attempt = iw_connect_attempt(ctx, &parameters);
	return rnic_dial_connect(&attempt, ctx->remote_addr, ctx->remote_port, &ctx->cm_id,
				 &ctx->peer);
}

/* Releases a failed attempt. Posted receives stay for the next attempt, where they can. */
static void undo_dial(struct iw_ctx_conn *ctx, int error)
{
	struct rnic_qp_attributes attributes;

	if (ctx->cm_channel != NULL)
		rnic_cm_destroy_channel(ctx->cm_channel);
	rnic_iw_pd_free(ctx->cm_pd);
	ctx->cm_channel = NULL;
	ctx->cm_pd = NULL;
	if (error == -ENODEV || error == -EIO || ctx->qp == NULL ||
	    rnic_query_qp(ctx->qp, &attributes, NULL) != 0 ||
	    attributes.state != RNIC_QP_STATE_INIT)
		rnic_iw_reset(ctx);
}

int rnic_iw_connect(const void *priv_data, size_t priv_data_len, struct iw_ctx_conn *ctx)
{
	int error;

	if (ctx == NULL || priv_data_len > IW_CONNECT_PRIVATE_DATA_MAX ||
	    (priv_data == NULL && priv_data_len > 0))
		return -EINVAL;
	if (!is_unused(ctx))
		return -EISCONN;
	if (ctx->remote_addr == NULL)
		return -EDESTADDRREQ;
	ctx->has_peer = false;
	error = iw_connect_dial(ctx, priv_data, priv_data_len);
	if (error != 0) {
		undo_dial(ctx, error);
		return error;
	}
	ctx->has_peer = true;
	ctx->state = RNIC_IW_CONNECTED;
	return 0;
}

const void *rnic_iw_peer_data(const struct iw_ctx_conn *ctx, size_t *length)
{
	const bool is_there = ctx != NULL && ctx->has_peer;

	if (length != NULL)
		*length = is_there ? ctx->peer.private_data_bytes : 0;
	return is_there ? ctx->peer.private_data : NULL;
}

/* --- responder ------------------------------------------------------------------------------- */

static int begin_listening(struct iw_ctx_conn *ctx, const char *addr, uint16_t port,
			   uint32_t backlog)
{
	int error = rnic_iw_find_daemon(ctx);

	if (error == 0)
		error = open_events(ctx, ctx->pd);
	if (error == 0)
		error = rnic_dial_listen(ctx->cm_channel, addr, port, backlog, &ctx->cm_id,
					 &ctx->listen_port);
	if (error != 0) {
		rnic_iw_reset(ctx);
		return error;
	}
	ctx->state = RNIC_IW_LISTENING;
	return 0;
}

int rnic_iw_open(const char *listen_addr, uint16_t listen_port, uint32_t backlog,
		 struct iw_ctx_conn **listen_iw_ctx)
{
	struct iw_ctx_conn *made = NULL;
	struct iw_ctx_conn *ctx;
	int error = 0;

	if (listen_iw_ctx == NULL)
		return -EINVAL;
	ctx = *listen_iw_ctx;
	if (ctx == NULL) {
		error = rnic_iw_ctx_alloc(NULL, 0, NULL, NULL, &made);
		ctx = made;
	} else if (!is_unused(ctx)) {
		error = -EISCONN;
	}
	if (error == 0)
		error = begin_listening(ctx, listen_addr, listen_port, backlog);
	if (error != 0)
		rnic_iw_ctx_free(made);
	else
		*listen_iw_ctx = ctx;
	return error;
}

uint16_t rnic_iw_ctx_port(const struct iw_ctx_conn *ctx)
{
	return ctx != NULL ? ctx->listen_port : 0;
}

/* Gives the request `id` to `ctx`, which owns it even on failure. */
static int iw_connect_take_request(struct iw_ctx_conn *ctx, struct iw_ctx_conn *listener,
				   struct rnic_cm_id *id)
{
	int error;

	ctx->cm_id = id;
	ctx->state = RNIC_IW_REQUESTED;
	ctx->has_peer = true;
	error = open_events(ctx, listener->cm_pd);
	if (error == 0)
		error = rnic_cm_migrate(id, ctx->cm_channel);
	if (error == 0)
		error = rnic_iw_make_ready(ctx);
	if (error != 0)
		rnic_iw_reset(ctx);
	return error;
}

int rnic_iw_listen(struct iw_ctx_conn *listener, struct iw_ctx_conn **cli_iw_ctx)
{
	struct iw_ctx_conn *made = NULL;
	struct iw_ctx_conn *ctx;
	struct rnic_cm_id *id;
	int error = 0;

	if (listener == NULL || cli_iw_ctx == NULL)
		return -EINVAL;
	if (listener->state != RNIC_IW_LISTENING)
		return -ENOTCONN;
	ctx = *cli_iw_ctx;
	if (ctx == NULL) {
		error = rnic_iw_ctx_alloc(NULL, 0, &listener->capacity, listener->pd, &made);
		ctx = made;
	} else if (!is_unused(ctx)) {
		error = -EISCONN;
	}
	if (error == 0)
		error = rnic_dial_next_request(listener->cm_channel, rnic_iw_deadline_ns(listener),
					       &id, &ctx->peer);
	if (error == 0)
		error = iw_connect_take_request(ctx, listener, id);
	if (error != 0) {
		rnic_iw_ctx_free(made);
		return error;
	}
	if (made != NULL)
		made->timeout_ms = listener->timeout_ms;
	*cli_iw_ctx = ctx;
	return 0;
}

int rnic_iw_accept(const void *priv_data, size_t priv_data_len, struct iw_ctx_conn *ctx)
{
	struct rnic_cm_parameters parameters;
	int error;

	if (ctx == NULL || priv_data_len > IW_ACCEPT_PRIVATE_DATA_MAX ||
	    (priv_data == NULL && priv_data_len > 0))
		return -EINVAL;
	if (ctx->state != RNIC_IW_REQUESTED)
		return -ENOTCONN;
	error = rnic_dial_parameters(ctx->qp, priv_data, priv_data_len, &parameters);
	if (error == 0) {
		const struct rnic_dial_attempt attempt = iw_connect_attempt(ctx, &parameters);

		error = rnic_dial_accept(&attempt, ctx->cm_id, &ctx->peer);
	}
	if (error != 0) {
		rnic_iw_reset(ctx);
		return error;
	}
	ctx->state = RNIC_IW_CONNECTED;
	return 0;
}

int rnic_iw_reject(struct iw_ctx_conn *ctx)
{
	int error;

	if (ctx == NULL)
		return -EINVAL;
	if (ctx->state != RNIC_IW_REQUESTED)
		return -ENOTCONN;
	error = rnic_cm_reject(ctx->cm_id, 0, NULL, 0);
	rnic_iw_reset(ctx);
	return error;
}

/* --- teardown -------------------------------------------------------------------------------- */

static bool has_unheard_failure(const struct iw_ctx_conn *ctx)
{
	const struct rnic_iw_queue *queue = &ctx->send;

	if (ctx->is_failure_heard)
		return false;
	for (uint32_t i = 0; i < queue->ready_count; i++)
		if (queue->ready[(queue->ready_first + i) % queue->slots].status != RNIC_WC_SUCCESS)
			return true;
	return false;
}

/*
 * Waits until the send queue is empty. Silent requests at its end report nothing, so a probe behind
 * them completes instead.
 */
static int iw_connect_drain(struct iw_ctx_conn *ctx)
{
	const uint64_t bound_ns = rnic_dial_now_ns() + DRAIN_NS;
	uint64_t deadline_ns = rnic_iw_deadline_ns(ctx);
	int error = rnic_iw_collect(ctx);

	if (deadline_ns > bound_ns)
		deadline_ns = bound_ns;
	while (error >= 0 && rnic_iw_queue_pending(&ctx->send) > 0) {
		error = rnic_iw_post_probe(ctx);
		if (error == 0)
			error = rnic_iw_wait(ctx, deadline_ns);
		if (error == -EINTR)
			error = 0;
	}
	if (error < 0)
		return error;
	return has_unheard_failure(ctx) ? -EREMOTEIO : 0;
}

int rnic_iw_disconnect(struct iw_ctx_conn *ctx)
{
	int error = 0;

	if (ctx == NULL)
		return -EINVAL;
	if (ctx->state == RNIC_IW_IDLE)
		error = -ENOTCONN;
	else if (ctx->qp != NULL && ctx->state != RNIC_IW_LISTENING)
		error = iw_connect_drain(ctx);
	rnic_iw_reset(ctx);
	return error;
}

int rnic_iw_await_disconnect(struct iw_ctx_conn *ctx)
{
	uint64_t deadline_ns;
	int error = 0;

	if (ctx == NULL)
		return -EINVAL;
	if (ctx->state == RNIC_IW_IDLE || ctx->state == RNIC_IW_LISTENING)
		return -ENOTCONN;
	deadline_ns = rnic_iw_deadline_ns(ctx);
	while (error == 0 && (ctx->state == RNIC_IW_CONNECTED || ctx->state == RNIC_IW_REQUESTED))
		error = rnic_iw_wait(ctx, deadline_ns);
	if (error == -ETIMEDOUT || error == -EINTR)
		return error;
	if (error == 0 && ctx->state == RNIC_IW_FAILED)
		error = -ECONNRESET;
	rnic_iw_reset(ctx);
	return error;
}
