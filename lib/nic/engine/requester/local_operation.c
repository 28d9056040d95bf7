/* SPDX-License-Identifier: MIT */
#include "engine/requester/local_operation.h"

#include "engine/requester/completer.h"
#include "engine/objects/mw.h"
#include "engine/objects/qp.h"

static struct send_wqe *oldest(const struct qp *qp)
{
	return send_queue_at(&qp->send_queue, qp->send_queue.retired);
}

bool local_operation_is_due(const struct qp *qp)
{
	const struct send_queue *queue = &qp->send_queue;

	return qp->state == RNIC_QP_STATE_RTS && queue->retired == queue->next &&
	       queue->next != queue->posted && wqe_kind(oldest(qp))->is_local;
}

static enum verdict local_operation_invalidate(struct qp *qp, uint32_t key)
{
	if (!mw_can_invalidate(qp, key))
		return VERDICT_INVALIDATE_REFUSED;
	mw_invalidate(qp, key);
	return VERDICT_PASS;
}

static enum verdict carry_out(struct qp *qp, const struct send_wqe *wqe)
{
	if (qp->type == RNIC_QP_TYPE_UD) /* IBTA 1.4, table 37 */
		return VERDICT_LOCAL_OPERATION;
	return wqe->opcode == RNIC_WR_BIND_MW ? mw_bind(qp, wqe)
					      : local_operation_invalidate(qp, wqe->immediate);
}

void local_operation_run(struct engine *engine, struct qp *qp)
{
	while (local_operation_is_due(qp)) {
		enum verdict verdict = carry_out(qp, oldest(qp));

		if (verdict != VERDICT_PASS) {
			/* Putting payload in place may have ended the QP meanwhile. */
			if (local_operation_is_due(qp))
				requester_fail(engine, qp, verdict);
			return;
		}
		if (!local_operation_is_due(qp))
			return;
		completer_complete_oldest(engine, qp, RNIC_WC_SUCCESS, VERDICT_PASS);
		qp->requester.wqe_index = qp->send_queue.next;
		qp_make_ready(qp);
	}
}
