/* SPDX-License-Identifier: MIT */
/* Posting: turns regions and lists of regions into work requests. */
#include "lib/apis/connection/iw_objects.h"

#include <errno.h>

#define ELEMENTS_MAX 32 /* the most that any context may have; the device has no more */
#define ALL_FLAGS    (IW_SEND_FENCE | IW_SEND_SIGNALED | IW_SEND_SOLICITED | IW_SEND_INLINE)

/* --- room ------------------------------------------------------------------------------------ */

int rnic_iw_await_room(struct iw_ctx_conn *ctx, struct rnic_iw_queue *queue, enum rnic_iw_kind kind)
{
	const uint64_t deadline_ns = rnic_iw_deadline_ns(ctx);
	int error = 0;

	if (!rnic_iw_queue_has_room(queue, kind))
		error = rnic_iw_collect(ctx);
	while (error >= 0 && !rnic_iw_queue_has_room(queue, kind)) {
		/* The caller makes room by awaiting the requests that it can await. */
		if (queue != &ctx->send || queue->told + queue->ready_count > 0)
			return -ENOMEM;
		error = rnic_iw_wait(ctx, deadline_ns);
	}
	return error < 0 ? error : 0;
}

/* --- lists ----------------------------------------------------------------------------------- */

/* Checks `sgl`, and writes it in the form of work requests, and its length. */
static int take_sgl(const struct iw_ctx_conn *ctx, const struct iw_sgl *sgl, uint32_t max_count,
		    bool is_written_to, struct rnic_sge list[ELEMENTS_MAX], uint64_t *length)
{
	uint64_t total = 0;

	if (sgl == NULL || sgl->count > max_count || sgl->count > ELEMENTS_MAX ||
	    (sgl->elements == NULL && sgl->count > 0))
		return -EINVAL;
	for (uint32_t i = 0; i < sgl->count; i++) {
		const struct iw_sge *element = &sgl->elements[i];
		const struct iw_lmr *lmr = element->lmr;

		if (lmr == NULL || lmr->pd != ctx->pd || element->offset > lmr->length ||
		    element->length > lmr->length - element->offset)
			return -EINVAL;
		if (is_written_to && (lmr->access_flags & IW_ACCESS_LOCAL_WRITE) == 0)
			return -EACCES;
		if (element->length > RNIC_MESSAGE_BYTES_MAX)
			return -EMSGSIZE;
		total += element->length;
		list[i] = (struct rnic_sge){
			.address = (uintptr_t)lmr->address + element->offset,
			.length = (uint32_t)element->length,
			.lkey = rnic_mr_lkey(lmr->mr),
		};
	}
	if (total > RNIC_MESSAGE_BYTES_MAX)
		return -EMSGSIZE;
	*length = total;
	return 0;
}

static int post_send_kind(struct iw_ctx_conn *ctx, uint8_t opcode, const struct iw_sgl *sgl,
			  const struct iw_rmr *rmr, uint64_t offset, uint32_t flags)
{
	const enum rnic_iw_kind kind =
		(flags & IW_SEND_SIGNALED) != 0 ? RNIC_IW_TOLD : RNIC_IW_SILENT;
	struct rnic_sge list[ELEMENTS_MAX];
	struct rnic_send_wr wr = {.opcode = opcode, .flags = (uint8_t)flags, .sge_list = list};
	uint64_t length;
	int error;

	if (ctx == NULL || (flags & ~(uint32_t)ALL_FLAGS) != 0 ||
	    (opcode != RNIC_WR_SEND && rmr == NULL))
		return -EINVAL;
	error = take_sgl(ctx, sgl, ctx->capacity.max_send_sge, opcode == RNIC_WR_RDMA_READ, list,
			 &length);
	if (error != 0)
		return error;
	if ((flags & IW_SEND_INLINE) != 0 && length > RNIC_IW_INLINE_BYTES)
		return -EINVAL;
	if (rmr != NULL) {
		if (offset > rmr->length || length > rmr->length - offset)
			return -EINVAL;
		wr.remote_address = rmr->address + offset;
		wr.rkey = rmr->rkey;
	}
	if (ctx->state != RNIC_IW_CONNECTED)
		return -ENOTCONN;
	error = rnic_iw_await_room(ctx, &ctx->send, kind);
	if (error != 0)
		return error;
	if (ctx->state != RNIC_IW_CONNECTED)
		return -ENOTCONN;
	wr.sge_count = sgl->count;
	return rnic_iw_post_request(ctx, &wr, kind);
}

/* --- the interface --------------------------------------------------------------------------- */

int rnic_iw_post_recv_sgl(const struct iw_sgl *sgl, struct iw_ctx_conn *ctx)
{
	struct rnic_sge list[ELEMENTS_MAX];
	struct rnic_recv_wr wr = {.sge_list = list};
	const struct rnic_recv_wr *bad;
	uint64_t length;
	int error;

	if (ctx == NULL)
		return -EINVAL;
	error = take_sgl(ctx, sgl, ctx->capacity.max_recv_sge, true, list, &length);
	if (error != 0)
		return error;
	if (ctx->state != RNIC_IW_IDLE && ctx->state != RNIC_IW_REQUESTED &&
	    ctx->state != RNIC_IW_CONNECTED)
		return -ENOTCONN;
	error = rnic_iw_make_ready(ctx);
	if (error == 0)
		error = rnic_iw_await_room(ctx, &ctx->recv, RNIC_IW_TOLD);
	if (error != 0)
		return error;
	wr.wr_id = ctx->recv.posted;
	wr.sge_count = sgl->count;
	error = rnic_post_recv(ctx->qp, &wr, &bad);
	if (error == 0)
		rnic_iw_queue_add(&ctx->recv, RNIC_IW_TOLD, true);
	return error;
}

int rnic_iw_post_recv_lmr(const struct iw_lmr *lmr, size_t offset, size_t length,
			  struct iw_ctx_conn *ctx)
{
	const struct iw_sge element = {lmr, offset, length};

	return rnic_iw_post_recv_sgl(&(struct iw_sgl){&element, 1}, ctx);
}

int rnic_iw_post_send_sgl(const struct iw_sgl *sgl, uint32_t send_flags, struct iw_ctx_conn *ctx)
{
	return post_send_kind(ctx, RNIC_WR_SEND, sgl, NULL, 0, send_flags);
}

int rnic_iw_post_send_lmr(const struct iw_lmr *lmr, size_t offset, size_t length,
			  uint32_t send_flags, struct iw_ctx_conn *ctx)
{
	const struct iw_sge element = {lmr, offset, length};

	return rnic_iw_post_send_sgl(&(struct iw_sgl){&element, 1}, send_flags, ctx);
}

int rnic_iw_post_write_sgl(const struct iw_sgl *sgl, const struct iw_rmr *rmr, uint64_t offset_dst,
			   uint32_t send_flags, struct iw_ctx_conn *ctx)
{
	return post_send_kind(ctx, RNIC_WR_RDMA_WRITE, sgl, rmr, offset_dst, send_flags);
}

int rnic_iw_post_write_lmr(const struct iw_lmr *lmr, size_t offset_src, const struct iw_rmr *rmr,
			   uint64_t offset_dst, size_t length, uint32_t send_flags,
			   struct iw_ctx_conn *ctx)
{
	const struct iw_sge element = {lmr, offset_src, length};

	return rnic_iw_post_write_sgl(&(struct iw_sgl){&element, 1}, rmr, offset_dst, send_flags,
				      ctx);
}

int rnic_iw_post_read_sgl(const struct iw_sgl *sgl, const struct iw_rmr *rmr, uint64_t offset_src,
			  uint32_t send_flags, struct iw_ctx_conn *ctx)
{
	return post_send_kind(ctx, RNIC_WR_RDMA_READ, sgl, rmr, offset_src, send_flags);
}

int rnic_iw_post_read_lmr(const struct iw_lmr *lmr, size_t offset_dst, const struct iw_rmr *rmr,
			  uint64_t offset_src, size_t length, uint32_t send_flags,
			  struct iw_ctx_conn *ctx)
{
	const struct iw_sge element = {lmr, offset_dst, length};

	return rnic_iw_post_read_sgl(&(struct iw_sgl){&element, 1}, rmr, offset_src, send_flags,
				     ctx);
}
