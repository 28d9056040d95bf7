/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/progress/send_completion.h"

#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/objects/qp_record.h"
#include "lib/nic/engine/qp_state.h"

/* Takes the oldest WQE off the queue and reports a completion, unless the WQE succeeded unsignaled.
 */
static void retire_oldest(struct engine *engine, struct qp *qp, enum rnic_wc_status status,
			  enum verdict verdict)
{
	struct send_queue *queue = &qp->send_queue;
	const struct send_wqe *wqe = send_queue_at(queue, queue->retired);
	const struct rnic_wr_operation *operation = wqe_operation(wqe);
	struct cqe cqe = {
		.wr_id = wqe->wr_id,
		.qp = qp,
		.byte_count = operation->has_result && status == RNIC_WC_SUCCESS ? wqe->length : 0,
		.vendor_error = status == RNIC_WC_SUCCESS ? 0 : verdict_row(verdict)->cause,
		.retired = queue->retired + 1,
		.status = (uint8_t)status,
		.opcode = operation->completion,
		.is_solicited = status != RNIC_WC_SUCCESS,
		.is_silent = status == RNIC_WC_SUCCESS && !(wqe->flags & RNIC_SEND_SIGNALED),
	};

	queue->untold = cqe.is_silent ? queue->untold + 1 : 0;
	send_queue_retire(queue);
	if (queue->is_awaited) {
		queue->is_awaited = false;
		engine->config.sink->send_space(engine->config.sink_context, qp);
	}
	if (status != RNIC_WC_SUCCESS && status != RNIC_WC_WR_FLUSH_ERR)
		qp_record_failure(qp, RNIC_RECORD_SEND_FAILED, &cqe);
	placement_cqe(engine, qp->send_cq, &cqe);
}

void send_completion_complete_oldest(struct engine *engine, struct qp *qp,
				     enum rnic_wc_status status, enum verdict verdict)
{
	if (qp->state != RNIC_QP_STATE_ERR)
		retire_oldest(engine, qp, status, verdict);
}

void send_completion_flush(struct engine *engine, struct qp *qp)
{
	while (qp->send_queue.retired != qp->send_queue.posted)
		retire_oldest(engine, qp, RNIC_WC_WR_FLUSH_ERR, VERDICT_FLUSHED);
	qp->requester.wqe_index = qp->send_queue.next;
}

void send_completion_check_drained(struct qp *qp)
{
	struct engine *engine = qp->engine;

	if (qp->state != RNIC_QP_STATE_SQD || !qp->attributes.sq_draining ||
	    qp->send_queue.retired != qp->send_queue.next)
		return;
	qp->attributes.sq_draining = 0;
	if (qp->attributes.en_sqd_async_notify)
		engine->config.sink->async_event(engine->config.sink_context, RNIC_EVENT_SQ_DRAINED,
						 qp);
}
