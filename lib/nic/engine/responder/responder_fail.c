/* SPDX-License-Identifier: MIT */
#include "engine/responder/responder_fail.h"

#include "engine/progress/qp_error.h"
#include "engine/progress/receive_wqe.h"
#include "engine/qp_state.h"
#include "engine/reliability/acknowledgement.h"
#include "engine/responder/request_checks.h"

#include <assert.h>

/* Ends the message under way in error, and with it the QP's work. */
static void responder_fail_stop(struct engine *engine, struct qp *qp, enum verdict verdict,
				bool is_receive_at_fault)
{
	const struct verdict_row *row = verdict_row(verdict);

	qp->responder.open_operation = RNIC_OPERATION_NONE;
	if (is_receive_at_fault && qp->responder.has_receive)
		receive_wqe_complete_in_error(engine, qp, verdict);
	if (row->async_event != VERDICT_NO_STATUS)
		engine->config.sink->async_event(engine->config.sink_context,
						 (enum rnic_async_event_type)row->async_event, qp);
	qp_enter_error(qp, verdict);
}

static void fail_reliable(struct engine *engine, struct qp *qp, enum verdict verdict,
			  struct rnic_psn psn, bool is_receive_at_fault)
{
	const struct verdict_row *row = verdict_row(verdict);
	struct responder *responder = &qp->responder;

	assert(row->is_fatal && row->syndrome != VERDICT_NO_SYNDROME);
	/* Of two failures the earlier is reported; after an error of our own side none is. */
	if (responder->has_fatal_nak ? rnic_psn_distance(psn, responder->acknowledge_psn) >= 0
				     : qp->state == RNIC_QP_STATE_ERR)
		return;
	responder_resources_cancel_from(&responder->resources, psn);
	acknowledgement_owe(qp, row->syndrome, psn);
	if (responder->has_fatal_nak)
		return;
	responder->has_fatal_nak = true;
	responder_fail_stop(engine, qp, verdict, is_receive_at_fault);
}

void responder_fail(struct engine *engine, struct qp *qp, enum verdict verdict, struct rnic_psn psn,
		    bool is_receive_at_fault)
{
	if (qp_is_reliable(qp))
		fail_reliable(engine, qp, verdict, psn, is_receive_at_fault);
	else if (qp->state != RNIC_QP_STATE_ERR)
		responder_fail_stop(engine, qp, verdict, is_receive_at_fault);
}

void responder_drop_message(struct engine *engine, struct qp *qp)
{
	engine->counters[COUNTER_DROPPED_MESSAGES]++;
	qp->responder.open_operation = RNIC_OPERATION_NONE;
	receive_wqe_give_back(qp);
}

void responder_refuse(struct request *request, enum verdict verdict)
{
	const struct verdict_row *row = verdict_row(verdict);
	struct engine *engine = request->engine;
	struct qp *qp = request->qp;
	bool is_reliable = qp_is_reliable(qp);

	engine->counters[is_reliable ? row->counter : row->unreliable_counter]++;
	if (!is_reliable && !row->is_fatal_unreliable) {
		qp_note_trouble(qp, verdict);
		responder_drop_message(engine, qp);
		return;
	}
	if (row->takes_receive)
		receive_wqe_try_take(request->qp, request->srq);
	responder_fail(engine, qp, verdict, request->packet->psn, true);
}
