/* SPDX-License-Identifier: MIT */
#include "engine/cq.h"

#include "engine/engine.h"
#include "engine/qp.h"

static enum counter completion_counter(const struct completion *completion)
{
	switch (completion->status) {
	case RNIC_WC_SUCCESS:
		return COUNTER_COMPLETIONS;
	case RNIC_WC_WR_FLUSH_ERR:
		return COUNTER_FLUSHED_COMPLETIONS;
	default:
		return COUNTER_ERROR_COMPLETIONS;
	}
}

static void bring_into_error(struct engine *engine, struct cq *cq, struct qp *qp)
{
	const struct engine_sink *sink = engine->config.sink;

	engine->counters[COUNTER_CQ_OVERRUNS]++;
	if (!cq->overrun) {
		cq->overrun = true;
		sink->async_event(engine->config.sink_context, RNIC_EVENT_CQ_ERR, cq);
	}
	if (qp->state == RNIC_QP_STATE_ERR)
		return;
	sink->async_event(engine->config.sink_context, RNIC_EVENT_QP_FATAL, qp);
	qp_enter_error(qp, VERDICT_CQ_OVERRUN);
}

void cq_complete(struct engine *engine, struct cq *cq, const struct completion *completion)
{
	const struct engine_sink *sink = engine->config.sink;

	memory_batch_flush(&engine->writes);
	if (cq->overrun || !sink->completion(engine->config.sink_context, cq, completion)) {
		bring_into_error(engine, cq, completion->qp);
		return;
	}
	engine->counters[completion_counter(completion)]++;
	completion->qp->counters.completions++;
}
