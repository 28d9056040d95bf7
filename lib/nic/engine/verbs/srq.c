/* SPDX-License-Identifier: MIT */
#include "engine/verbs/srq.h"

#include "engine/objects/cq.h"
#include "engine/engine.h"
#include "engine/verbs/qp.h"
#include "engine/objects/xrcd.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static int enter_domain(struct srq *srq)
{
	int error = xrcd_add_srq(srq->xrcd, srq);

	if (error == 0)
		srq->cq->references++;
	return error;
}

static void leave_domain(struct srq *srq)
{
	struct list *node;

	list_for_each (node, &srq->xrcd->targets)
		responder_forget_srq(list_entry(node, struct qp, domain_node), srq);
	xrcd_remove_srq(srq->xrcd, srq);
	srq->cq->references--;
}

int srq_create(struct engine *engine, const struct srq_config *config, struct srq **srq)
{
	struct srq *made;
	int error;

	if (config->max_wr == 0 || config->max_wr > LIMIT_WR_DEPTH || config->max_sge > LIMIT_SGES)
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->engine = engine;
	made->pd = config->pd;
	made->xrcd = config->xrcd;
	made->cq = config->cq;
	made->max_wr = config->max_wr;
	made->max_sge = config->max_sge;
	made->user = config->user;
	error = recv_queue_init(&made->queue, config->max_sge);
	if (error != 0)
		goto free_made;
	error = key_table_insert_random(&engine->srqs, &engine->prng, made, &made->number);
	if (error != 0)
		goto fini_queue;
	if (made->xrcd != NULL)
		error = enter_domain(made);
	if (error != 0)
		goto remove_key;
	made->pd->references++;
	*srq = made;
	return 0;

remove_key:
	key_table_remove(&engine->srqs, made->number);
fini_queue:
	recv_queue_fini(&made->queue);
free_made:
	free(made);
	return error;
}

void srq_destroy(struct srq *srq)
{
	assert(srq->references == 0);
	/* Completions that wait speak of it. */
	placement_run(srq->engine);
	if (srq->xrcd != NULL)
		leave_domain(srq);
	key_table_remove(&srq->engine->srqs, srq->number);
	srq->pd->references--;
	recv_queue_fini(&srq->queue);
	free(srq);
}

int srq_attach(struct srq *srq)
{
	int error = recv_queue_reserve(&srq->queue, srq->references + 1);

	if (error != 0)
		return error;
	srq->references++;
	return 0;
}

void srq_detach(struct srq *srq)
{
	assert(srq->references > 0);
	srq->references--;
}

uint32_t srq_waiting(const struct srq *srq)
{
	const struct engine_config *config = &srq->engine->config;

	return srq->queue.pushed - srq->queue.taken +
	       config->sink->posted(config->sink_context, &srq->queue);
}

static void check_limit(struct srq *srq)
{
	const struct engine_config *config = &srq->engine->config;

	if (srq->limit == 0 || srq_waiting(srq) >= srq->limit)
		return;
	srq->limit = 0;
	config->sink->async_event(config->sink_context, RNIC_EVENT_SRQ_LIMIT_REACHED, srq);
}

int srq_check_size(const struct srq *srq, uint32_t max_wr, uint32_t limit)
{
	if (max_wr == 0 || max_wr > LIMIT_WR_DEPTH || limit > max_wr)
		return -EINVAL;
	return max_wr < srq->max_wr && srq_waiting(srq) > max_wr ? -EINVAL : 0;
}

void srq_set_size(struct srq *srq, uint32_t max_wr)
{
	srq->max_wr = max_wr;
}

int srq_set_limit(struct srq *srq, uint32_t limit)
{
	if (limit > srq->max_wr)
		return -EINVAL;
	srq->limit = limit;
	check_limit(srq);
	return 0;
}

void srq_completion_lost(struct srq *srq)
{
	const struct engine_config *config = &srq->engine->config;

	if (srq->xrcd == NULL || srq->has_failed)
		return;
	srq->has_failed = true;
	config->sink->async_event(config->sink_context, RNIC_EVENT_SRQ_ERR, srq);
}

bool srq_try_take(struct srq *srq, struct recv_wqe *wqe, struct rnic_sge *sges)
{
	if (!recv_queue_take(srq->engine, &srq->queue, wqe, sges))
		return false;
	check_limit(srq);
	return true;
}
