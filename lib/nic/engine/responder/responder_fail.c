/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/responder/responder_fail.h"

#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/progress/receive_wqe.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/reliability/acknowledgement.h"
#include "lib/nic/engine/responder/request_checks.h"

#include <assert.h>
#include <errno.h>

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

/*
 * The last answer after a failed request. A request that is not refused on the wire is not answered
 * at all, but the requests before it are acknowledged.
 */
static void responder_fail_answer(struct qp *qp, const struct verdict_row *row, struct rnic_psn psn)
{
	qp->responder.failed_psn = psn;
	if (row->syndrome != VERDICT_NO_SYNDROME)
		acknowledgement_owe(qp, row->syndrome, psn);
	else
		acknowledgement_end_before(qp, psn, qp->responder.msn);
}

/* The QP is in ERR for another reason, which stands; nothing from `psn` on is acknowledged. */
static void responder_fail_in_error(struct qp *qp, struct rnic_psn psn)
{
	struct responder *responder = &qp->responder;

	responder_resources_cancel_from(&responder->resources, psn);
	if (!responder->has_acknowledge || rnic_psn_distance(responder->acknowledge_psn, psn) >= 0)
		acknowledgement_end_before(qp, psn, qp->responder.msn);
}

static void fail_reliable(struct engine *engine, struct qp *qp, enum verdict verdict,
			  struct rnic_psn psn, bool is_receive_at_fault)
{
	const struct verdict_row *row = verdict_row(verdict);
	struct responder *responder = &qp->responder;

	assert(row->is_fatal);
	/* Of two failures the earlier is reported; after an error of our own side none is. */
	if (responder->has_failed && rnic_psn_distance(psn, responder->failed_psn) >= 0)
		return;
	if (!responder->has_failed && qp->state == RNIC_QP_STATE_ERR) {
		responder_fail_in_error(qp, psn);
		return;
	}
	responder_resources_cancel_from(&responder->resources, psn);
	responder_fail_answer(qp, row, psn);
	if (responder->has_failed)
		return;
	responder->has_failed = true;
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

enum verdict responder_memory_verdict(const struct engine *engine, const struct qp *qp, int error,
				      bool is_of_receive)
{
	const struct engine_sink *sink = engine->config.sink;

	if (error != -ESRCH)
		return VERDICT_MEMORY_GONE;
	if (sink->refuses_when_gone == NULL ||
	    !sink->refuses_when_gone(engine->config.sink_context, qp))
		return VERDICT_PROGRAM_GONE;
	return is_of_receive ? VERDICT_MEMORY_GONE : VERDICT_PROGRAM_REFUSES;
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
	engine->refusal_verdict = verdict;
	if (!is_reliable && !row->is_fatal_unreliable) {
		qp_note_trouble(qp, verdict);
		responder_drop_message(engine, qp);
		return;
	}
	if (row->takes_receive && request_needs_receive(request->packet))
		receive_wqe_try_take(request->qp, request->srq);
	responder_fail(engine, qp, verdict, request->packet->psn, true);
}
