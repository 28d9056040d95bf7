/* SPDX-License-Identifier: MIT */
/* Protection domains and contexts: making, readying and ending them. */
#include "lib/apis/connection/iw_objects.h"
#include "lib/apis/dial/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEFAULT_REQUESTS 64
#define DEFAULT_ELEMENTS 4

/* --- protection domains ---------------------------------------------------------------------- */

int rnic_iw_pd_alloc(struct iw_pd **allocated)
{
	struct iw_pd *pd;
	int error;

	if (allocated == NULL)
		return -EINVAL;
	pd = calloc(1, sizeof(*pd));
	if (pd == NULL)
		return -ENOMEM;
	atomic_init(&pd->references, 1);
	error = rnic_open(NULL, &pd->context);
	if (error != 0)
		goto free_pd;
	error = rnic_alloc_pd(pd->context, &pd->native);
	if (error != 0)
		goto close_context;
	*allocated = pd;
	return 0;

close_context:
	rnic_close(pd->context);
free_pd:
	free(pd);
	return error;
}

struct iw_pd *rnic_iw_pd_hold(struct iw_pd *pd)
{
	atomic_fetch_add_explicit(&pd->references, 1, memory_order_relaxed);
	return pd;
}

void rnic_iw_pd_free(struct iw_pd *pd)
{
	if (pd == NULL || atomic_fetch_sub_explicit(&pd->references, 1, memory_order_acq_rel) != 1)
		return;
	rnic_dealloc_pd(pd->native);
	rnic_close(pd->context);
	free(pd);
}

/* --- contexts -------------------------------------------------------------------------------- */

static int check_capacity(const struct iw_qp_capacity *capacity, const struct iw_pd *pd)
{
	const struct rnic_device_attributes *device = rnic_get_device_attributes(pd->context);
	const uint32_t most = device->max_qp_wr - RNIC_IW_QUEUE_PROBES;

	if (capacity->max_send_wr == 0 || capacity->max_send_wr > most ||
	    capacity->max_recv_wr == 0 || capacity->max_recv_wr > most ||
	    capacity->max_send_sge == 0 || capacity->max_send_sge > device->max_sge ||
	    capacity->max_recv_sge == 0 || capacity->max_recv_sge > device->max_sge)
		return -EINVAL;
	return 0;
}

static int init(struct iw_ctx_conn *ctx, const char *remote_addr, struct iw_pd *shared_pd)
{
	int error = 0;

	if (shared_pd != NULL)
		ctx->pd = rnic_iw_pd_hold(shared_pd);
	else
		error = rnic_iw_pd_alloc(&ctx->pd);
	if (error != 0)
		return error;
	ctx->is_pd_shared = shared_pd != NULL;
	error = check_capacity(&ctx->capacity, ctx->pd);
	if (error != 0)
		return error;
	if (remote_addr != NULL) {
		ctx->remote_addr = strdup(remote_addr);
		if (ctx->remote_addr == NULL)
			return -ENOMEM;
	}
	error = rnic_iw_queue_init(&ctx->send, ctx->capacity.max_send_wr);
	if (error == 0)
		error = rnic_iw_queue_init(&ctx->recv, ctx->capacity.max_recv_wr);
	return error;
}

int rnic_iw_ctx_alloc(const char *remote_addr, uint16_t remote_port,
		      const struct iw_qp_capacity *qp_capacity, struct iw_pd *shared_pd,
		      struct iw_ctx_conn **iw_ctx)
{
	static const struct iw_qp_capacity usual = {
		.max_send_wr = DEFAULT_REQUESTS,
		.max_recv_wr = DEFAULT_REQUESTS,
		.max_send_sge = DEFAULT_ELEMENTS,
		.max_recv_sge = DEFAULT_ELEMENTS,
	};
	struct iw_ctx_conn *ctx;
	int error;

	if (iw_ctx == NULL)
		return -EINVAL;
	ctx = calloc(1, sizeof(*ctx));
	if (ctx == NULL)
		return -ENOMEM;
	ctx->remote_port = remote_port;
	ctx->capacity = qp_capacity != NULL ? *qp_capacity : usual;
	ctx->timeout_ms = -1;
	ctx->poll_fd = -1;
	ctx->ready_fd = -1;
	error = init(ctx, remote_addr, shared_pd);
	if (error != 0)
		rnic_iw_ctx_free(ctx);
	else
		*iw_ctx = ctx;
	return error;
}

void rnic_iw_ctx_set_timeout(struct iw_ctx_conn *iw_ctx, int timeout_ms)
{
	if (iw_ctx != NULL)
		iw_ctx->timeout_ms = timeout_ms;
}

int rnic_iw_ctx_natives(const struct iw_ctx_conn *ctx, struct iw_natives *natives)
{
	if (ctx == NULL || natives == NULL)
		return -EINVAL;
	*natives = (struct iw_natives){
		.context = ctx->pd->context,
		.pd = ctx->pd->native,
		.qp = ctx->qp,
	};
	return 0;
}

int rnic_iw_ctx_share(const struct iw_ctx_conn *ctx, int *shared)
{
	int error, fd;

	if (ctx == NULL || shared == NULL)
		return -EINVAL;
	fd = memfd_create("rnic-connection", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = rnic_share(ctx->pd->context, fd);
	if (error == 0)
		*shared = fd;
	else
		close(fd);
	return error;
}

uint64_t rnic_iw_deadline_ns(const struct iw_ctx_conn *ctx)
{
	return rnic_dial_deadline_ns(ctx->timeout_ms);
}

/* --- queues ---------------------------------------------------------------------------------- */

static int iw_context_make_queues(struct iw_ctx_conn *ctx)
{
	struct rnic_context *context = ctx->pd->context;
	int error = rnic_create_channel(context, &ctx->channel);

	if (error != 0)
		return error;
	if (fcntl(rnic_channel_fd(ctx->channel), F_SETFL, O_NONBLOCK) != 0)
		return -errno;
	error = rnic_create_cq(context, ctx->send.slots, ctx->channel, 0, 0, NULL, &ctx->send_cq);
	if (error == 0)
		error = rnic_create_cq(context, ctx->recv.slots, ctx->channel, 0, 0, NULL,
				       &ctx->recv_cq);
	if (error == 0)
		error = rnic_iw_make_advert_memory(ctx);
	return error;
}

static void iw_context_end_qp(struct iw_ctx_conn *ctx)
{
	struct rnic_completion none;

	if (ctx->qp != NULL) {
		rnic_destroy_qp(ctx->qp);
		/*
		 * Drops the completions of the destroyed queue pair, which would take the next
		 * one's room.
		 */
		rnic_poll_cq(ctx->send_cq, 1, &none);
		rnic_poll_cq(ctx->recv_cq, 1, &none);
	}
	ctx->qp = NULL;
	ctx->is_probing = false;
	ctx->left_ns = 0;
	ctx->is_failure_heard = false;
	rnic_iw_queue_reset(&ctx->send);
	rnic_iw_queue_reset(&ctx->recv);
}

static void end_queues(struct iw_ctx_conn *ctx)
{
	iw_context_end_qp(ctx);
	if (ctx->advert_mr != NULL)
		rnic_dereg_mr(ctx->advert_mr);
	free(ctx->advert_memory);
	if (ctx->recv_cq != NULL)
		rnic_destroy_cq(ctx->recv_cq);
	if (ctx->send_cq != NULL)
		rnic_destroy_cq(ctx->send_cq);
	if (ctx->channel != NULL)
		rnic_destroy_channel(ctx->channel);
	ctx->advert_mr = NULL;
	ctx->advert_memory = NULL;
	ctx->recv_cq = NULL;
	ctx->send_cq = NULL;
	ctx->channel = NULL;
}

int rnic_iw_find_daemon(struct iw_ctx_conn *ctx)
{
	struct rnic_port_attributes port;
	struct iw_pd *pd;
	int error;

	if (ctx->qp != NULL)
		return 0;
	error = rnic_query_port(ctx->pd->context, &port);
	if (error == 0 || ctx->is_pd_shared)
		return error;
	error = rnic_iw_pd_alloc(&pd);
	if (error != 0)
		return error;
	end_queues(ctx);
	rnic_iw_pd_free(ctx->pd);
	ctx->pd = pd;
	return 0;
}

static int make_qp(struct iw_ctx_conn *ctx)
{
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_RC,
		.send_cq = ctx->send_cq,
		.recv_cq = ctx->recv_cq,
		.capacities = {.max_send_wr = ctx->send.slots,
			       .max_recv_wr = ctx->recv.depth,
			       .max_send_sge = ctx->capacity.max_send_sge,
			       .max_recv_sge = ctx->capacity.max_recv_sge,
			       .max_inline_bytes = RNIC_IW_INLINE_BYTES},
	};
	int error = rnic_create_qp(ctx->pd->native, &options, &ctx->qp);

	return error != 0 ? error : rnic_dial_prepare(ctx->qp);
}

int rnic_iw_make_ready(struct iw_ctx_conn *ctx)
{
	int error;

	if (ctx->qp != NULL)
		return 0;
	error = rnic_iw_find_daemon(ctx);
	if (error == 0 && ctx->channel == NULL)
		error = iw_context_make_queues(ctx);
	if (error == 0)
		error = make_qp(ctx);
	if (error != 0)
		end_queues(ctx);
	return error;
}

/* --- ending ---------------------------------------------------------------------------------- */

void rnic_iw_reset(struct iw_ctx_conn *ctx)
{
	iw_context_end_qp(ctx);
	if (ctx->cm_id != NULL)
		rnic_cm_destroy_id(ctx->cm_id);
	if (ctx->cm_channel != NULL)
		rnic_cm_destroy_channel(ctx->cm_channel);
	rnic_iw_pd_free(ctx->cm_pd);
	ctx->cm_id = NULL;
	ctx->cm_channel = NULL;
	ctx->cm_pd = NULL;
	ctx->listen_port = 0;
	ctx->state = RNIC_IW_IDLE;
}

void rnic_iw_ctx_free(struct iw_ctx_conn *ctx)
{
	if (ctx == NULL)
		return;
	rnic_iw_reset(ctx);
	end_queues(ctx);
	rnic_iw_queue_fini(&ctx->send);
	rnic_iw_queue_fini(&ctx->recv);
	rnic_iw_pd_free(ctx->pd);
	if (ctx->poll_fd >= 0)
		close(ctx->poll_fd);
	if (ctx->ready_fd >= 0)
		close(ctx->ready_fd);
	free(ctx->remote_addr);
	free(ctx);
}
