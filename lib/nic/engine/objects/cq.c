/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/cq.h"

#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/qp_state.h"

static enum counter completion_counter(const struct cqe *cqe)
{
	switch (cqe->status) {
	case RNIC_WC_SUCCESS:
		return COUNTER_COMPLETIONS;
	case RNIC_WC_WR_FLUSH_ERR:
		return COUNTER_FLUSHED_COMPLETIONS;
	default:
		return COUNTER_ERROR_COMPLETIONS;
	}
}

bool cq_deliver(struct engine *engine, struct cq *cq, const struct cqe *cqe)
{
	const struct engine_sink *sink = engine->config.sink;

	if (!cq->overrun && sink->cqe(engine->config.sink_context, cq, cqe)) {
		engine->counters[completion_counter(cqe)]++;
		cqe->qp->counters.completions++;
		return true;
	}
	engine->counters[COUNTER_CQ_OVERRUNS]++;
	if (!cq->overrun) {
		cq->overrun = true;
		sink->async_event(engine->config.sink_context, RNIC_EVENT_CQ_ERR, cq);
	}
	return false;
}
