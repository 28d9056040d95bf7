/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/progress/qp_error.h"

#include "lib/nic/base/probe.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/progress/receive_wqe.h"
#include "lib/nic/engine/progress/send_completion.h"
#include "lib/nic/engine/progress/send_position.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/objects/kept.h"
#include "lib/nic/engine/objects/qp_record.h"

#include <assert.h>

_Static_assert(VERDICT_COUNT <= 64, "each has a bit of qp->trouble_log_told");

static void record_trouble(struct qp *qp, enum verdict verdict)
{
	const bool is_about_key = verdict == VERDICT_BAD_RKEY ||
				  verdict == VERDICT_LOCAL_PROTECTION ||
				  verdict == VERDICT_RECEIVE_PROTECTION;
	const struct rnic_record_entry entry = {
		.event = RNIC_RECORD_TROUBLE,
		.detail = verdict_row(verdict)->cause,
		.extra = qp->state,
		.value = is_about_key ? qp->engine->refusal.key : 0,
	};

	qp_record(qp, &entry);
}

/* Strangers may send packets, each wrong in another way than the packet before. */
void qp_note_trouble(struct qp *qp, enum verdict verdict)
{
	const struct engine_config *config = &qp->engine->config;
	const uint64_t bit = UINT64_C(1) << verdict;
	bool is_new = (qp->trouble_log_told & bit) == 0;

	qp->last_error = verdict;
	qp->refusal = qp->engine->refusal;
	qp->trouble_log_told |= bit;
	RNIC_PROBE2(qp_trouble, qp->qpn, verdict);
	record_trouble(qp, verdict);
	/* Flushed without an error before: the application asked for ERR. */
	if (is_new && verdict != VERDICT_FLUSHED && config->sink->trouble != NULL)
		config->sink->trouble(config->sink_context, qp);
}

/*
 * Forgets the queued answers, but for those before a failed request, and for an acknowledgement and
 * those before it: the program has the messages that it is for.
 */
static void qp_error_stop_responder(struct qp *qp)
{
	struct responder *responder = &qp->responder;

	responder->open_operation = RNIC_OPERATION_NONE;
	responder->has_nak_pending = false;
	kept_forget(qp->engine, &qp->kept);
	if (responder->has_acknowledge)
		ready_list_add(qp);
	else if (!responder->has_failed)
		responder_resources_clear(&responder->resources);
}

void qp_enter_error(struct qp *qp, enum verdict verdict)
{
	const struct engine_config *config = &qp->engine->config;

	if (qp->state == RNIC_QP_STATE_ERR || qp->state == RNIC_QP_STATE_RESET)
		return;
	qp->state = RNIC_QP_STATE_ERR;
	qp_note_trouble(qp, verdict);
	if (config->sink->entered_error != NULL)
		config->sink->entered_error(config->sink_context, qp);
	send_position_reset(qp->engine, qp);
	kept_forget(qp->engine, &qp->kept_responses);
	send_completion_flush(qp->engine, qp);
	qp_error_stop_responder(qp);
	receive_wqe_flush(qp->engine, qp);
	if (qp_shares_receives(qp))
		placement_last_receive(qp->engine, qp);
}

/*
 * A send of a UC or UD QP failed for `verdict`: into SQE, where receives go on and sends are
 * flushed until the QP is modified to RTS (IBTA 1.4, 10.3.1.6).
 */
static void qp_enter_send_error(struct qp *qp, enum verdict verdict)
{
	if (qp->state != RNIC_QP_STATE_RTS && qp->state != RNIC_QP_STATE_SQD)
		return;
	qp->state = RNIC_QP_STATE_SQE;
	qp_note_trouble(qp, verdict);
	qp->attributes.sq_draining = 0;
	send_position_reset(qp->engine, qp);
	send_completion_flush(qp->engine, qp);
}

void qp_fail_send(struct engine *engine, struct qp *qp, enum verdict verdict)
{
	const struct verdict_row *row = verdict_row(verdict);

	assert(qp->send_queue.retired != qp->send_queue.posted);
	engine->counters[row->counter]++;
	send_completion_complete_oldest(engine, qp, (enum rnic_wc_status)row->send_status, verdict);
	if (qp_is_reliable(qp))
		qp_enter_error(qp, verdict);
	else
		qp_enter_send_error(qp, verdict);
}
