/* SPDX-License-Identifier: MIT */
/*
 * Waiting, and the events meanwhile: completions, and events of the connection manager. A wait
 * sleeps on the descriptors of both, and probes an idle connection now and then, because a peer
 * whose machine or daemon is gone says nothing.
 */
#include "lib/apis/connection/iw_objects.h"
#include "lib/apis/dial/dial.h"

#include <errno.h>
#include <poll.h>

#define COMPLETIONS_AT_ONCE 16
#define PROBE_INTERVAL_NS   UINT64_C(1000000000)

void rnic_iw_fail(struct iw_ctx_conn *ctx, enum rnic_iw_state state)
{
	if (ctx->state != RNIC_IW_CONNECTED && ctx->state != RNIC_IW_REQUESTED)
		return;
	ctx->state = state;
	if (ctx->qp != NULL)
		rnic_dial_fail_qp(ctx->qp);
}

/* --- completions ----------------------------------------------------------------------------- */

static void iw_wait_tell(struct rnic_iw_queue *queue, uint64_t number,
			 const struct rnic_completion *completion)
{
	const bool has_bytes =
		completion->status == RNIC_WC_SUCCESS && (completion->opcode == RNIC_WC_RDMA_READ ||
							  (completion->opcode & RNIC_WC_RECV) != 0);
	const struct iw_wc wc = {
		.wr_id = number,
		.byte_len = has_bytes ? completion->byte_count : 0,
		.status = completion->status,
		.opcode = completion->opcode,
	};

	rnic_iw_queue_push(queue, &wc);
}

static void iw_wait_take(struct iw_ctx_conn *ctx, struct rnic_iw_queue *queue,
			 const struct rnic_completion *completion)
{
	const bool has_failed = completion->status != RNIC_WC_SUCCESS;
	struct rnic_iw_request request;

	if (!rnic_iw_queue_retire(queue, completion->wr_id, &request))
		return;
	if (has_failed)
		rnic_iw_fail(ctx, RNIC_IW_FAILED);
	switch (request.kind) {
	case RNIC_IW_TOLD:
		iw_wait_tell(queue, request.number, completion);
		break;
	case RNIC_IW_SILENT:
		if (has_failed)
			iw_wait_tell(queue, request.number, completion);
		break;
	case RNIC_IW_ADVERT:
		rnic_iw_take_advert(ctx, completion->wr_id, completion);
		break;
	case RNIC_IW_PROBE:
		ctx->is_probing = false;
		break;
	}
}

static int iw_wait_collect(struct iw_ctx_conn *ctx, struct rnic_cq *cq, struct rnic_iw_queue *queue)
{
	struct rnic_completion completions[COMPLETIONS_AT_ONCE];
	int total = 0;
	int count;

	do {
		count = rnic_poll_cq(cq, COMPLETIONS_AT_ONCE, completions);
		if (count < 0)
			return count;
		for (int i = 0; i < count; i++)
			iw_wait_take(ctx, queue, &completions[i]);
		total += count;
	} while (count == COMPLETIONS_AT_ONCE);
	return total;
}

/* The peer has left: ends the connection when the answers to all sends are there, or late. */
static void end_behind_peer(struct iw_ctx_conn *ctx)
{
	if (rnic_iw_queue_pending(&ctx->send) == 0 ||
	    rnic_dial_now_ns() - ctx->left_ns >= RNIC_DIAL_LINGER_NS)
		rnic_iw_fail(ctx, RNIC_IW_ENDED);
}

int rnic_iw_collect(struct iw_ctx_conn *ctx)
{
	int sent, received;

	if (ctx->qp == NULL)
		return 0;
	sent = iw_wait_collect(ctx, ctx->send_cq, &ctx->send);
	if (sent < 0)
		return sent;
	received = iw_wait_collect(ctx, ctx->recv_cq, &ctx->recv);
	if (ctx->left_ns != 0)
		end_behind_peer(ctx);
	return received < 0 ? received : sent + received;
}

/* --- events ---------------------------------------------------------------------------------- */

static int iw_wait_take_completion_events(struct iw_ctx_conn *ctx)
{
	struct rnic_cq *cq;
	int error;

	do {
		error = rnic_get_cq_event(ctx->channel, &cq);
		if (error == 0)
			rnic_ack_cq_events(cq, 1);
	} while (error == 0);
	return error == -EAGAIN ? 0 : error;
}

static void take_connection_event(struct iw_ctx_conn *ctx, const struct rnic_cm_event *event)
{
	switch (event->type) {
	case RNIC_CM_DISCONNECTED:
		ctx->left_ns = rnic_dial_now_ns();
		end_behind_peer(ctx);
		break;
	case RNIC_CM_UNREACHABLE:
	case RNIC_CM_REJECTED:
	case RNIC_CM_CONNECT_ERROR:
	case RNIC_CM_DEVICE_REMOVAL:
		rnic_iw_fail(ctx, RNIC_IW_FAILED);
		break;
	default:
		break;
	}
}

static int iw_wait_take_connection_events(struct iw_ctx_conn *ctx)
{
	struct rnic_cm_event event;
	int error;

	do {
		error = rnic_cm_get_event(ctx->cm_channel, &event);
		if (error == 0) {
			take_connection_event(ctx, &event);
			rnic_cm_ack_event(&event);
		}
	} while (error == 0);
	return error == -EAGAIN ? 0 : error;
}

/* Asks for an event at the next entry, then collects. Returns the number of entries that came. */
static int iw_wait_arm(struct iw_ctx_conn *ctx)
{
	int error;

	if (ctx->qp == NULL)
		return 0;
	error = rnic_req_notify_cq(ctx->send_cq, false);
	if (error == 0)
		error = rnic_req_notify_cq(ctx->recv_cq, false);
	return error != 0 ? error : rnic_iw_collect(ctx);
}

static int iw_wait_sleep_for_events(struct iw_ctx_conn *ctx, uint64_t deadline_ns)
{
	const bool is_peer_left = ctx->left_ns != 0;
	const uint64_t look_ns =
		rnic_dial_now_ns() + (is_peer_left ? RNIC_DIAL_LINGER_NS : PROBE_INTERVAL_NS);
	struct pollfd descriptors[] = {
		{.fd = ctx->qp != NULL ? rnic_channel_fd(ctx->channel) : -1, .events = POLLIN},
		{.fd = ctx->cm_channel != NULL ? rnic_cm_channel_fd(ctx->cm_channel) : -1,
		 .events = POLLIN},
	};
	const uint64_t until_ns = deadline_ns < look_ns ? deadline_ns : look_ns;
	struct rnic_context *context = ctx->qp != NULL ? ctx->pd->context : NULL;
	int count = rnic_wait(context, descriptors, 2, rnic_dial_poll_timeout_ms(until_ns));
	int error = 0;

	if (count < 0)
		return count;
	if (count == 0 && rnic_dial_now_ns() >= deadline_ns)
		return -ETIMEDOUT;
	if (count == 0)
		return is_peer_left ? 0 : rnic_iw_post_probe(ctx);
	if (descriptors[0].revents != 0)
		error = iw_wait_take_completion_events(ctx);
	if (error == 0 && descriptors[1].revents != 0)
		error = iw_wait_take_connection_events(ctx);
	return error;
}

int rnic_iw_arm(struct iw_ctx_conn *ctx)
{
	int error = ctx->qp != NULL ? iw_wait_take_completion_events(ctx) : 0;

	return error == 0 ? iw_wait_arm(ctx) : error;
}

int rnic_iw_wait(struct iw_ctx_conn *ctx, uint64_t deadline_ns)
{
	struct rnic_cq *const cqs[] = {ctx->send_cq, ctx->recv_cq};
	int count = rnic_iw_collect(ctx);

	if (count == 0 && ctx->qp != NULL && rnic_await_entry(cqs, 2) > 0)
		count = rnic_iw_collect(ctx);
	if (count == 0)
		count = iw_wait_arm(ctx);
	if (count != 0)
		return count < 0 ? count : 0;
	return iw_wait_sleep_for_events(ctx, deadline_ns);
}

/* --- what the caller waits for --------------------------------------------------------------- */

int rnic_iw_await_completions(enum iw_cq_type cq_type, uint32_t num_wcs, struct iw_wc *wc_list_out,
			      struct iw_ctx_conn *ctx)
{
	struct rnic_iw_queue *queue;
	uint64_t deadline_ns;
	int error;

	if (ctx == NULL || (cq_type != IW_SCQ && cq_type != IW_RCQ) ||
	    (wc_list_out == NULL && num_wcs > 0))
		return -EINVAL;
	if (ctx->qp == NULL)
		return -ENOTCONN;
	queue = cq_type == IW_SCQ ? &ctx->send : &ctx->recv;
	deadline_ns = rnic_iw_deadline_ns(ctx);
	error = rnic_iw_collect(ctx);
	while (error >= 0 && queue->ready_count < num_wcs) {
		if (num_wcs - queue->ready_count > queue->told)
			return -EINVAL;
		error = rnic_iw_wait(ctx, deadline_ns);
	}
	if (error < 0)
		return error;
	error = 0;
	for (uint32_t i = 0; i < num_wcs; i++) {
		wc_list_out[i] = rnic_iw_queue_pop(queue);
		if (wc_list_out[i].status != RNIC_WC_SUCCESS)
			error = -EREMOTEIO;
	}
	ctx->is_failure_heard |= error != 0;
	return error;
}
