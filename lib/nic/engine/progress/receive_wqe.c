/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/progress/receive_wqe.h"

#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/objects/qp_record.h"
#include "lib/nic/engine/objects/srq_queue.h"
#include "lib/nic/engine/qp_state.h"

#include <assert.h>

const struct recv_wqe *receive_wqe_peek(struct qp *qp, struct srq *srq,
					const struct rnic_sge **sges)
{
	if (!qp->responder.has_receive)
		return recv_queue_peek(qp->engine, srq != NULL ? &srq->queue : &qp->recv_queue,
				       sges);
	*sges = qp->responder.receive_sges;
	return &qp->responder.receive;
}

bool receive_wqe_try_take(struct qp *qp, struct srq *srq)
{
	struct responder *responder = &qp->responder;

	if (responder->has_receive)
		return true;
	if (srq != NULL)
		responder->has_receive =
			srq_try_take(srq, &responder->receive, responder->receive_sges);
	else
		responder->has_receive = recv_queue_take(
			qp->engine, &qp->recv_queue, &responder->receive, responder->receive_sges);
	responder->receive_srq = srq;
	return responder->has_receive;
}

void receive_wqe_give_back(struct qp *qp)
{
	struct responder *responder = &qp->responder;

	if (!responder->has_receive || responder->receive_srq == NULL)
		return;
	responder->has_receive = false;
	responder->open_operation = RNIC_OPERATION_NONE;
	recv_queue_give_back(&responder->receive_srq->queue, &responder->receive,
			     responder->receive_sges);
}

/* The CQ of the WQE under way: with XRC the SRQ names it (annex A14). */
static struct cq *receive_cq(const struct qp *qp)
{
	const struct srq *srq = qp->responder.receive_srq;

	return srq != NULL && srq->cq != NULL ? srq->cq : qp->recv_cq;
}

void receive_wqe_complete(struct engine *engine, struct qp *qp, struct cqe *cqe)
{
	struct responder *responder = &qp->responder;

	assert(responder->has_receive);
	responder->has_receive = false;
	cqe->wr_id = responder->receive.wr_id;
	cqe->qp = qp;
	if (qp->type != RNIC_QP_TYPE_UD) {
		cqe->source_qpn = qp->attributes.dest_qpn;
		cqe->source_gid_index = qp->attributes.path.source_gid_index;
	}
	cqe->is_recv = true;
	cqe->srq = responder->receive_srq;
	if (cqe->srq == NULL)
		cqe->retired = ++qp->recv_queue.retired;
	placement_cqe(engine, receive_cq(qp), cqe);
}

void receive_wqe_complete_in_error(struct engine *engine, struct qp *qp, enum verdict verdict)
{
	struct cqe cqe = {
		.vendor_error = verdict_row(verdict)->cause,
		.status = verdict_row(verdict)->receive_status,
		.opcode = RNIC_WC_RECV,
		.is_solicited = true, /* errors wake whoever waits for solicited ones */
	};

	cqe.wr_id = qp->responder.receive.wr_id;
	if (verdict != VERDICT_FLUSHED)
		qp_record_failure(qp, RNIC_RECORD_RECEIVE_FAILED, &cqe);
	receive_wqe_complete(engine, qp, &cqe);
}

void receive_wqe_flush(struct engine *engine, struct qp *qp)
{
	if (qp->responder.has_receive)
		receive_wqe_complete_in_error(engine, qp, VERDICT_FLUSHED);
	if (!qp_has_recv_queue(qp))
		return;
	/* Bounded: a client that posts as fast as we flush is served by qp_flush_receives(). */
	for (uint32_t i = 0; i < LIMIT_WR_DEPTH && receive_wqe_try_take(qp, NULL); i++)
		receive_wqe_complete_in_error(engine, qp, VERDICT_FLUSHED);
}
