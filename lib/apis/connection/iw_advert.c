/* SPDX-License-Identifier: MIT */
/* Advertisement of buffers: a small message with the address, length and key of a region. */
#include "lib/apis/connection/iw_objects.h"

#include <errno.h>

int rnic_iw_post_send_adv(const struct iw_lmr *lmr, struct iw_ctx_conn *ctx)
{
	uint8_t message[RNIC_IW_ADVERT_BYTES];
	struct iw_lmr body;

	if (lmr == NULL || ctx == NULL || lmr->pd != ctx->pd)
		return -EINVAL;
	rnic_iw_encode_advert(lmr, message);
	/* Inline data needs no region of its own. */
	body = *lmr;
	body.address = message;
	body.length = sizeof(message);
	return rnic_iw_post_send_lmr(&body, 0, sizeof(message), IW_SEND_INLINE, ctx);
}

int rnic_iw_post_recv_adv(struct iw_ctx_conn *ctx)
{
	struct rnic_sge sge;
	struct rnic_recv_wr wr = {.sge_list = &sge, .sge_count = 1};
	const struct rnic_recv_wr *bad;
	int error;

	if (ctx == NULL)
		return -EINVAL;
	if (ctx->state != RNIC_IW_IDLE && ctx->state != RNIC_IW_REQUESTED &&
	    ctx->state != RNIC_IW_CONNECTED)
		return -ENOTCONN;
	error = rnic_iw_make_ready(ctx);
	if (error == 0)
		error = rnic_iw_await_room(ctx, &ctx->recv, RNIC_IW_ADVERT);
	if (error != 0)
		return error;
	wr.wr_id = ctx->recv.posted;
	sge = rnic_iw_advert_place(ctx, wr.wr_id);
	error = rnic_post_recv(ctx->qp, &wr, &bad);
	if (error == 0)
		rnic_iw_queue_add(&ctx->recv, RNIC_IW_ADVERT, true);
	return error;
}

int rnic_iw_wait_recv_adv(struct iw_rmr *rmr, struct iw_ctx_conn *ctx)
{
	struct rnic_iw_advert advert;
	uint64_t deadline_ns;
	int error;

	if (rmr == NULL || ctx == NULL)
		return -EINVAL;
	if (ctx->qp == NULL)
		return -ENOTCONN;
	deadline_ns = rnic_iw_deadline_ns(ctx);
	error = rnic_iw_collect(ctx);
	while (error >= 0 && ctx->recv.advert_count == 0) {
		if (ctx->recv.adverts_awaited == 0)
			return -EINVAL;
		error = rnic_iw_wait(ctx, deadline_ns);
	}
	if (error < 0)
		return error;
	advert = rnic_iw_queue_pop_advert(&ctx->recv);
	if (advert.error == 0)
		*rmr = advert.rmr;
	return advert.error;
}
