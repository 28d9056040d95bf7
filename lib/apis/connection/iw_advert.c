/* SPDX-License-Identifier: MIT */
/* Advertisement of buffers: small messages with the address, length and key of a region. */
#include "lib/apis/connection/iw_objects.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ADVERT_MAGIC UINT32_C(0x52574956) /* "RWIV" */

/* The wire format: big-endian. */
struct advert_message {
	uint32_t magic;
	uint32_t rkey;
	uint64_t address;
	uint64_t length;
};

_Static_assert(sizeof(struct advert_message) == 24, "an advertisement has 24 bytes");
_Static_assert(sizeof(struct advert_message) <= RNIC_IW_INLINE_BYTES, "it travels inline");

int rnic_iw_make_advert_memory(struct iw_ctx_conn *ctx)
{
	const size_t bytes = ctx->recv.slots * sizeof(struct advert_message);

	ctx->advert_memory = calloc(1, bytes);
	if (ctx->advert_memory == NULL)
		return -ENOMEM;
	return rnic_reg_mr(ctx->pd->native, ctx->advert_memory, bytes,
			   (uintptr_t)ctx->advert_memory, RNIC_ACCESS_LOCAL_WRITE, &ctx->advert_mr);
}

/* The place of a receive. Requests under way have different places. */
static uint8_t *place_of(const struct iw_ctx_conn *ctx, uint64_t sequence)
{
	return ctx->advert_memory + sequence % ctx->recv.slots * sizeof(struct advert_message);
}

void rnic_iw_take_advert(struct iw_ctx_conn *ctx, uint64_t sequence,
			 const struct rnic_completion *completion)
{
	struct rnic_iw_advert advert = {0};
	struct advert_message message;

	memcpy(&message, place_of(ctx, sequence), sizeof(message));
	if (completion->status != RNIC_WC_SUCCESS) {
		advert.error = completion->status == RNIC_WC_LOC_LEN_ERR ? -EPROTO : -ENOTCONN;
	} else if (completion->byte_count != sizeof(message) ||
		   be32toh(message.magic) != ADVERT_MAGIC) {
		advert.error = -EPROTO;
	} else {
		advert.rmr = (struct iw_rmr){
			.address = be64toh(message.address),
			.length = be64toh(message.length),
			.rkey = be32toh(message.rkey),
		};
	}
	rnic_iw_queue_push_advert(&ctx->recv, &advert);
}

int rnic_iw_post_send_adv(const struct iw_lmr *lmr, struct iw_ctx_conn *ctx)
{
	struct advert_message message;
	struct iw_lmr body;

	if (lmr == NULL || ctx == NULL || lmr->pd != ctx->pd)
		return -EINVAL;
	message = (struct advert_message){
		.magic = htobe32(ADVERT_MAGIC),
		.rkey = htobe32(rnic_mr_rkey(lmr->mr)),
		.address = htobe64((uintptr_t)lmr->address),
		.length = htobe64(lmr->length),
	};
	/* Inline data needs no region of its own. */
	body = *lmr;
	body.address = &message;
	body.length = sizeof(message);
	return rnic_iw_post_send_lmr(&body, 0, sizeof(message), IW_SEND_INLINE, ctx);
}

int rnic_iw_post_recv_adv(struct iw_ctx_conn *ctx)
{
	struct rnic_sge sge = {.length = sizeof(struct advert_message)};
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
	sge.address = (uintptr_t)place_of(ctx, wr.wr_id);
	sge.lkey = rnic_mr_lkey(ctx->advert_mr);
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
