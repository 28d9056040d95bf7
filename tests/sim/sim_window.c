/* SPDX-License-Identifier: MIT */
/* Memory windows: opened, used by the peer, closed by either side, and the oracle's part in it. */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES 4096
#define HALF_BYTES   (WINDOW_BYTES / 2)

void sim_window_drop(struct sim_qp *qp)
{
	if (qp->mw.range.pd != NULL)
		mw_dealloc(&qp->host->engine, &qp->mw);
	qp->mw = (struct mw){0};
}

void sim_window_renew(struct sim_qp *qp)
{
	struct model_window *window = &qp->end.window;

	sim_window_drop(qp);
	if (mw_alloc(&qp->host->engine, &qp->mw, &qp->host->pd,
		     prng_below(&qp->sim->prng, 2) == 0 ? RNIC_MW_TYPE_1 : RNIC_MW_TYPE_2) != 0)
		abort();
	window->key = qp->mw.range.key;
}

static uint32_t post(struct sim_qp *qp, struct model_work *model, struct send_wqe *wqe)
{
	model->legal = STATUS_BIT(RNIC_WC_SUCCESS);
	model->flags = RNIC_SEND_SIGNALED;
	model->opcode = wqe->opcode;
	wqe->flags = model->flags;
	wqe->wr_id = qp->end.work_count - 1;
	qp_post_send(qp->qp, wqe, NULL, NULL);
	qp->host->is_dirty = true;
	return (uint32_t)wqe->wr_id;
}

static uint32_t post_bind(struct sim_qp *qp, bool opens, bool closes)
{
	struct model_window *window = &qp->end.window;
	struct model_work *model = oracle_add_work(&qp->end);
	const struct mr *region = &qp->host->mrs[SIM_KEY_WINDOWS];
	struct send_wqe wqe = {
		.opcode = RNIC_WR_BIND_MW,
		.rkey = (window->key & ~UINT32_C(0xff)) | ((window->key + 1) & 0xff),
		.immediate = region->key,
		.remote_address = region->iova + window->span.offset,
		.bind = {.length = opens ? WINDOW_BYTES : 0,
			 .access = RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_WRITE},
	};

	model->opens_window = opens;
	model->closes_window = closes;
	model->window_key = wqe.rkey;
	return post(qp, model, &wqe);
}

uint32_t sim_window_open(struct sim_qp *qp)
{
	struct model_window *window = &qp->end.window;

	if (qp->is_dead || window->state != WINDOW_FREE ||
	    send_queue_space(&qp->qp->send_queue) == 0)
		return SIM_REFUSED;
	if (window->span.length == 0)
		window->span =
			sim_memory_allocate(&qp->host->memory, &qp->sim->prng, WINDOW_BYTES, 8);
	if (window->span.length == 0)
		return SIM_REFUSED;
	window->state = WINDOW_OPENING;
	return post_bind(qp, true, false);
}

/* Accesses that the peer has under way may come too late. */
static void allow_refusals(struct sim_qp *qp)
{
	struct oracle_end *peer = &qp->peer->end;

	for (uint32_t i = peer->completed; i < peer->work_count; i++) {
		if (!peer->wqes[i].is_window_access)
			continue;
		peer->wqes[i].legal |= STATUS_BIT(RNIC_WC_REM_ACCESS_ERR);
		qp->end.may_stop = true;
	}
}

uint32_t sim_window_close(struct sim_qp *qp, bool reopens)
{
	struct model_window *window = &qp->end.window;
	struct send_wqe wqe = {.opcode = RNIC_WR_LOCAL_INVALIDATE, .immediate = window->key};
	struct model_work *model;

	if (qp->is_dead || window->state != WINDOW_OPEN ||
	    send_queue_space(&qp->qp->send_queue) == 0)
		return SIM_REFUSED;
	window->state = WINDOW_CLOSING;
	allow_refusals(qp);
	if (qp->mw.type == RNIC_MW_TYPE_1)
		return post_bind(qp, reopens, true);
	model = oracle_add_work(&qp->end);
	model->closes_window = true;
	return post(qp, model, &wqe);
}

/* A range of its own in the half that is written, or any of the half that is only read. */
static bool choose_range(struct sim_qp *qp, const struct sim_post *post, struct span *range)
{
	struct model_window *window = &qp->peer->end.window;

	range->length = post->bytes;
	if (post->opcode == RNIC_WR_RDMA_READ) {
		if (post->bytes > HALF_BYTES)
			return false;
		range->offset = window->span.offset +
				prng_below(&qp->sim->prng, HALF_BYTES - post->bytes + 1);
		return true;
	}
	if (post->bytes > HALF_BYTES - window->written)
		return false;
	range->offset = window->span.offset + HALF_BYTES + window->written;
	window->written += post->bytes;
	return true;
}

static bool give_up(struct sim_qp *qp, struct sim_post *post, struct model_work *model)
{
	struct model_window *window = &qp->peer->end.window;

	if (window->state != WINDOW_OPEN || qp->peer->mw.type != RNIC_MW_TYPE_2)
		return false;
	window->state = WINDOW_GIVEN_UP;
	model->immediate = window->key;
	post->fence = true; /* READs through it end before it does */
	return true;
}

bool sim_window_access(struct sim_qp *qp, struct sim_post *post, struct model_work *model)
{
	struct model_window *window = &qp->peer->end.window;

	if (post->opcode == RNIC_WR_SEND_WITH_INVALIDATE)
		return give_up(qp, post, model);
	if (window->span.length == 0 || window->state == WINDOW_OPENING || post->bytes == 0 ||
	    !choose_range(qp, post, &model->remote))
		return false;
	model->is_window_access = true;
	model->window_generation = window->generation;
	model->legal = 0;
	if (window->state == WINDOW_OPEN || window->state == WINDOW_CLOSING)
		model->legal |= STATUS_BIT(RNIC_WC_SUCCESS);
	if (window->state != WINDOW_OPEN) {
		model->legal |= STATUS_BIT(RNIC_WC_REM_ACCESS_ERR);
		qp->peer->end.may_stop = true;
	}
	if (post->opcode == RNIC_WR_RDMA_READ) {
		uint8_t *bytes = sim_keep(qp->sim, post->bytes);

		memcpy(bytes, qp->peer->host->memory.shadow + model->remote.offset, post->bytes);
		model->window_bytes = bytes;
	}
	return true;
}
