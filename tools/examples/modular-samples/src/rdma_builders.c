/* SPDX-License-Identifier: MIT */
#include "rdma_builders.h"

#include <inttypes.h>

#include "common.h"
#include "sample_wait.h"

int build_pd(struct rdma_ctx *ctx)
{
	ctx->pd = ibv_alloc_pd(ctx->id->verbs);
	if (!CHECK(ctx->pd != NULL, "ibv_alloc_pd"))
		return -1;
	if (ctx->dump) {
		dump_device(ctx->id->verbs, ctx->id->port_num);
		dump_pd(ctx->pd);
	}
	return 0;
}

int build_cq(struct rdma_ctx *ctx)
{
	ctx->completions = ibv_create_comp_channel(ctx->id->verbs);
	if (!CHECK(ctx->completions != NULL, "ibv_create_comp_channel"))
		return -1;
	if (make_nonblocking(ctx->completions->fd) != 0)
		return -1;
	ctx->cq = ibv_create_cq(ctx->id->verbs, SEND_DEPTH + RECV_DEPTH, ctx, ctx->completions, 0);
	if (!CHECK(ctx->cq != NULL, "ibv_create_cq"))
		return -1;
	if (ctx->dump)
		dump_cq(ctx->cq);
	return 0;
}

int build_qp(struct rdma_ctx *ctx)
{
	struct ibv_qp_init_attr attributes = {
		.qp_context = ctx,
		.send_cq = ctx->cq,
		.recv_cq = ctx->cq,
		.cap = {.max_send_wr = SEND_DEPTH,
			.max_recv_wr = RECV_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	if (!CHECK(rdma_create_qp(ctx->id, ctx->pd, &attributes) == 0, "rdma_create_qp"))
		return -1;
	ctx->qp = ctx->id->qp;
	if (ctx->dump)
		dump_qp(ctx->qp);
	return 0;
}

int build_all(struct rdma_ctx *ctx)
{
	return build_pd(ctx) == 0 && build_cq(ctx) == 0 && build_qp(ctx) == 0 ? 0 : -1;
}

void build_release(struct rdma_ctx *ctx)
{
	if (ctx->qp != NULL)
		rdma_destroy_qp(ctx->id);
	if (ctx->cq != NULL)
		(void)CHECK_NUMBER(ibv_destroy_cq(ctx->cq), "ibv_destroy_cq");
	if (ctx->completions != NULL)
		(void)CHECK_NUMBER(ibv_destroy_comp_channel(ctx->completions),
				   "ibv_destroy_comp_channel");
	if (ctx->pd != NULL)
		(void)CHECK_NUMBER(ibv_dealloc_pd(ctx->pd), "ibv_dealloc_pd");
	ctx->qp = NULL;
	ctx->cq = NULL;
	ctx->completions = NULL;
	ctx->pd = NULL;
}

/* --- showing --------------------------------------------------------------------------------- */

void dump_device(struct ibv_context *device, uint8_t port)
{
	struct ibv_port_attr attributes;

	if (!CHECK_NUMBER(ibv_query_port(device, port, &attributes), "ibv_query_port"))
		return;
	LOG("device %s, port %u: %s, active MTU %d bytes", ibv_get_device_name(device->device),
	    port, ibv_port_state_str(attributes.state), 128 << attributes.active_mtu);
}

void dump_pd(const struct ibv_pd *pd)
{
	LOG("protection domain: handle %" PRIu32, pd->handle);
}

void dump_cq(const struct ibv_cq *cq)
{
	LOG("completion queue: handle %" PRIu32 ", %d entries", cq->handle, cq->cqe);
}

void dump_qp(struct ibv_qp *qp)
{
	static const char *const states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
	struct ibv_qp_attr attributes;
	struct ibv_qp_init_attr initial;

	if (!CHECK_NUMBER(ibv_query_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_CAP, &initial),
			  "ibv_query_qp"))
		return;
	LOG("queue pair %#" PRIx32 ": %s, %" PRIu32 " sends, %" PRIu32 " receives", qp->qp_num,
	    attributes.qp_state < sizeof(states) / sizeof(states[0]) ? states[attributes.qp_state]
								     : "?",
	    initial.cap.max_send_wr, initial.cap.max_recv_wr);
}

void dump_mr(const struct ibv_mr *mr)
{
	LOG("memory region: %p, %zu bytes, lkey %#" PRIx32 ", rkey %#" PRIx32, mr->addr, mr->length,
	    mr->lkey, mr->rkey);
}
