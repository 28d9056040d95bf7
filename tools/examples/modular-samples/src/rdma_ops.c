/* SPDX-License-Identifier: MIT */
#include "rdma_ops.h"

#include <arpa/inet.h>

#include "common.h"
#include "rdma_cm_helpers.h"
#include "sample_wait.h"

static struct ibv_sge range_of(const struct rdma_buffer *buffer, size_t at, uint32_t length)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)(buffer->bytes + at),
		.length = length,
		.lkey = buffer->mr->lkey,
	};
}

static int post(const struct rdma_ctx *ctx, struct ibv_send_wr *request, const char *what)
{
	struct ibv_send_wr *refused;

	request->num_sge = 1;
	request->send_flags = IBV_SEND_SIGNALED;
	return CHECK_NUMBER(ibv_post_send(ctx->qp, request, &refused), "ibv_post_send of a %s",
			    what)
		       ? 0
		       : -1;
}

int post_write(const struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *from,
	       size_t at, uint32_t length, struct remote_range to)
{
	struct ibv_sge range = range_of(from, at, length);
	struct ibv_send_wr request = {
		.wr_id = wr_id,
		.sg_list = &range,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = {.remote_addr = to.address, .rkey = to.key},
	};

	return post(ctx, &request, "WRITE");
}

int post_write_imm(const struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *from,
		   size_t at, uint32_t length, struct remote_range to, uint32_t number)
{
	struct ibv_sge range = range_of(from, at, length);
	struct ibv_send_wr request = {
		.wr_id = wr_id,
		.sg_list = &range,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl(number),
		.wr.rdma = {.remote_addr = to.address, .rkey = to.key},
	};

	return post(ctx, &request, "WRITE with immediate");
}

int post_read(const struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *into, size_t at,
	      uint32_t length, struct remote_range from)
{
	struct ibv_sge range = range_of(into, at, length);
	struct ibv_send_wr request = {
		.wr_id = wr_id,
		.sg_list = &range,
		.opcode = IBV_WR_RDMA_READ,
		.wr.rdma = {.remote_addr = from.address, .rkey = from.key},
	};

	return post(ctx, &request, "READ");
}

int post_send(const struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *from, size_t at,
	      uint32_t length)
{
	struct ibv_sge range = range_of(from, at, length);
	struct ibv_send_wr request = {
		.wr_id = wr_id,
		.sg_list = &range,
		.opcode = IBV_WR_SEND,
	};

	return post(ctx, &request, "SEND");
}

int post_recv(const struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *into, size_t at,
	      uint32_t length)
{
	struct ibv_sge range;
	struct ibv_recv_wr request = {.wr_id = wr_id};
	struct ibv_recv_wr *refused;

	if (into != NULL) {
		range = range_of(into, at, length);
		request.sg_list = &range;
		request.num_sge = 1;
	}
	return CHECK_NUMBER(ibv_post_recv(ctx->qp, &request, &refused), "ibv_post_recv") ? 0 : -1;
}

/* --- completions ----------------------------------------------------------------------------- */

static int judge(const struct ibv_wc *completion)
{
	if (completion->status == IBV_WC_SUCCESS)
		return 0;
	LOG("work request %llu failed: %s", (unsigned long long)completion->wr_id,
	    ibv_wc_status_str(completion->status));
	return -1;
}

static void take_notification(const struct rdma_ctx *ctx)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(ctx->completions, &cq, &context) == 0)
		ibv_ack_cq_events(cq, 1);
}

/*
 * A completion may have come between the last poll and the request for an event: the caller polls
 * once more.
 */
static int sleep_until_something(struct rdma_ctx *ctx, int64_t deadline_ms)
{
	const int ready = wait_ready(ctx, READY_EVENT | READY_COMPLETION, deadline_ms);

	if (ready < 0)
		return -1;
	if (ready & READY_COMPLETION)
		take_notification(ctx);
	if (ready & READY_EVENT)
		return cm_look(ctx);
	return 0;
}

int wait_completion(struct rdma_ctx *ctx, struct ibv_wc *completion)
{
	const int64_t deadline_ms = deadline_from_now(ctx);
	bool is_asked_for = false;

	for (;;) {
		const int count = ibv_poll_cq(ctx->cq, 1, completion);

		if (!CHECK(count >= 0, "ibv_poll_cq"))
			return -1;
		if (count == 1)
			return judge(completion);
		if (ctx->is_disconnected) {
			LOG("the peer is gone");
			return -1;
		}
		if (is_asked_for) {
			if (sleep_until_something(ctx, deadline_ms) != 0)
				return -1;
			is_asked_for = false;
		} else {
			if (!CHECK_NUMBER(ibv_req_notify_cq(ctx->cq, 0), "ibv_req_notify_cq"))
				return -1;
			is_asked_for = true;
		}
	}
}

int wait_completion_of(struct rdma_ctx *ctx, enum ibv_wc_opcode opcode, struct ibv_wc *completion)
{
	if (wait_completion(ctx, completion) != 0)
		return -1;
	if (completion->opcode == opcode)
		return 0;
	LOG("a completion of operation %d came instead of %d", completion->opcode, opcode);
	return -1;
}
