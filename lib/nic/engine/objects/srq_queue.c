/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/srq_queue.h"

#include "lib/nic/engine/engine_state.h"

#include <assert.h>
#include <errno.h>

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

static void srq_check_limit(struct srq *srq)
{
	const struct engine_config *config = &srq->engine->config;

	if (srq->limit == 0 || srq_waiting(srq) >= srq->limit)
		return;
	srq->limit = 0;
	config->sink->async_event(config->sink_context, RNIC_EVENT_SRQ_LIMIT_REACHED, srq);
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
	srq_check_limit(srq);
	return true;
}

int srq_set_limit(struct srq *srq, uint32_t limit)
{
	if (limit > srq->max_wr)
		return -EINVAL;
	srq->limit = limit;
	srq_check_limit(srq);
	return 0;
}
