/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/requester/local_operation.h"

#include "lib/nic/engine/objects/mw.h"
#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/progress/send_completion.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"

static struct send_wqe *oldest(const struct qp *qp)
{
	return send_queue_at(&qp->send_queue, qp->send_queue.retired);
}

bool local_operation_is_due(const struct qp *qp)
{
	const struct send_queue *queue = &qp->send_queue;

	return qp->state == RNIC_QP_STATE_RTS && queue->retired == queue->next &&
	       queue->next != queue->posted && wqe_operation(oldest(qp))->is_local;
}

static enum verdict local_operation_invalidate(struct qp *qp, const struct send_wqe *wqe)
{
	if (!mw_can_invalidate(qp, wqe->immediate))
		return VERDICT_INVALIDATE_REFUSED;
	mw_invalidate(qp, wqe->immediate);
	return VERDICT_PASS;
}

static enum verdict local_operation_bind(struct qp *qp, const struct send_wqe *wqe)
{
	return mw_bind(qp, wqe);
}

static enum verdict (*const local_operations[RNIC_WR_OPCODE_COUNT])(struct qp *qp,
								    const struct send_wqe *wqe) = {
#define RNIC_WR_LOCAL(opcode_, services_, operands_, immediate_, completion_, execution_)          \
	[RNIC_WR_##opcode_] = local_operation_##execution_,
#include "proto/base/operations.def"
};

static enum verdict local_operation_execute(struct qp *qp, const struct send_wqe *wqe)
{
	if (!rnic_wr_is_of_type(wqe_operation(wqe), qp->type))
		return VERDICT_LOCAL_OPERATION;
	return local_operations[wqe->opcode](qp, wqe);
}

void local_operation_run(struct engine *engine, struct qp *qp)
{
	while (local_operation_is_due(qp)) {
		enum verdict verdict = local_operation_execute(qp, oldest(qp));

		if (verdict != VERDICT_PASS) {
			/* Putting payload in place may have ended the QP meanwhile. */
			if (local_operation_is_due(qp))
				qp_fail_send(engine, qp, verdict);
			return;
		}
		if (!local_operation_is_due(qp))
			return;
		send_completion_complete_oldest(engine, qp, RNIC_WC_SUCCESS, VERDICT_PASS);
		qp->requester.wqe_index = qp->send_queue.next;
		ready_list_add(qp);
	}
}
