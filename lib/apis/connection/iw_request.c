/* SPDX-License-Identifier: MIT */
/* One send request to the device, without waiting for room. */
#include "lib/apis/connection/iw_objects.h"

int rnic_iw_post_request(struct iw_ctx_conn *ctx, struct rnic_send_wr *wr, enum rnic_iw_kind kind)
{
	const bool is_signaled = kind == RNIC_IW_TOLD || kind == RNIC_IW_PROBE ||
				 rnic_iw_queue_wants_signal(&ctx->send);
	const struct rnic_send_wr *bad;
	int error;

	wr->wr_id = ctx->send.posted;
	if (is_signaled)
		wr->flags |= RNIC_SEND_SIGNALED;
	error = rnic_post_send(ctx->qp, wr, &bad);
	if (error == 0)
		rnic_iw_queue_add(&ctx->send, kind, is_signaled);
	return error;
}

int rnic_iw_post_probe(struct iw_ctx_conn *ctx)
{
	/* The device ignores the key of a request without data (IBTA 1.4, 9.7.4.1.5). */
	struct rnic_send_wr wr = {.opcode = RNIC_WR_RDMA_WRITE};
	int error;

	if (ctx->state < RNIC_IW_CONNECTED || ctx->is_probing ||
	    !rnic_iw_queue_has_room(&ctx->send, RNIC_IW_PROBE))
		return 0;
	error = rnic_iw_post_request(ctx, &wr, RNIC_IW_PROBE);
	ctx->is_probing = error == 0;
	return error;
}
