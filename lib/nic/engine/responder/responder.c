/* SPDX-License-Identifier: MIT */
#include "engine/responder/responder.h"

#include "engine/objects/mr.h"
#include "engine/verbs/qp.h"
#include "engine/responder/request_checks.h"
#include "engine/responder/responder_answer.h"
#include "engine/responder/responder_execute.h"
#include "engine/verbs/srq.h"
#include "wire/syndrome.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static void check_invariants(const struct qp *qp)
{
	const struct responder *responder = &qp->responder;

	/* A SEND holds a receive entry from its first packet to its last; UC keeps it longer. */
	if (qp_is_reliable(qp))
		assert(responder->has_receive ==
		       (responder->open_operation == RNIC_OPERATION_SEND));
	else
		assert(responder->has_receive || responder->open_operation != RNIC_OPERATION_SEND);
	assert(responder->open_operation != RNIC_OPERATION_WRITE ||
	       responder->message_bytes < responder->write_length);
	responder_resources_check_invariants(&responder->resources);
}

int responder_init(struct responder *responder, uint32_t recv_sge_max)
{
	struct rnic_sge *sges = calloc(recv_sge_max > 0 ? recv_sge_max : 1, sizeof(*sges));

	if (sges == NULL)
		return -ENOMEM;
	*responder = (struct responder){.receive_sges = sges};
	return 0;
}

void responder_fini(struct responder *responder)
{
	responder_resources_fini(&responder->resources);
	free(responder->receive_sges);
	*responder = (struct responder){0};
}

int responder_start(struct qp *qp)
{
	struct responder *responder = &qp->responder;
	struct responder_resources resources;
	int ret = responder_resources_init(&resources, qp->attributes.max_dest_rd_atomic);

	if (ret < 0)
		return ret;
	responder_resources_fini(&responder->resources);
	*responder = (struct responder){
		.expected_psn = rnic_psn(qp->attributes.rq_psn),
		.gap_end = rnic_psn(qp->attributes.rq_psn),
		.receive_sges = responder->receive_sges,
		.resources = resources,
	};
	return 0;
}

void responder_reset(struct engine *engine, struct qp *qp)
{
	struct responder *responder = &qp->responder;

	(void)engine;
	responder_resources_clear(&responder->resources);
	recv_queue_clear(&qp->recv_queue);
	*responder = (struct responder){
		.receive_sges = responder->receive_sges,
		.resources = responder->resources,
	};
}

/* --- receive entries ------------------------------------------------------------------------- */

const struct recv_wqe *responder_peek_receive(const struct request *request,
					      const struct rnic_sge **sges)
{
	struct qp *qp = request->qp;

	if (!qp->responder.has_receive)
		return recv_queue_peek(
			request->engine,
			request->srq != NULL ? &request->srq->queue : &qp->recv_queue, sges);
	*sges = qp->responder.receive_sges;
	return &qp->responder.receive;
}

static bool responder_try_take(struct engine *engine, struct qp *qp, struct srq *srq)
{
	struct responder *responder = &qp->responder;

	if (responder->has_receive)
		return true;
	if (srq != NULL)
		responder->has_receive =
			srq_try_take(srq, &responder->receive, responder->receive_sges);
	else
		responder->has_receive = recv_queue_take(
			engine, &qp->recv_queue, &responder->receive, responder->receive_sges);
	responder->receive_srq = srq;
	return responder->has_receive;
}

bool responder_try_take_receive(const struct request *request)
{
	return responder_try_take(request->engine, request->qp, request->srq);
}

void responder_give_back(struct qp *qp)
{
	struct responder *responder = &qp->responder;

	if (!responder->has_receive || responder->receive_srq == NULL)
		return;
	responder->has_receive = false;
	responder->open_operation = RNIC_OPERATION_NONE;
	recv_queue_give_back(&responder->receive_srq->queue, &responder->receive,
			     responder->receive_sges);
}

/* Where the entry under way completes: of XRC it is its SRQ that says so (annex A14). */
static struct cq *receive_cq(const struct qp *qp)
{
	const struct srq *srq = qp->responder.receive_srq;

	return srq != NULL && srq->cq != NULL ? srq->cq : qp->recv_cq;
}

void responder_complete_receive(struct engine *engine, struct qp *qp, struct cqe *cqe)
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

static void complete_receive_in_error(struct engine *engine, struct qp *qp, enum verdict verdict)
{
	struct cqe cqe = {
		.vendor_error = verdict,
		.status = verdict_row(verdict)->receive_status,
		.opcode = RNIC_WC_RECV,
		.is_solicited = true, /* errors wake whoever waits for solicited ones */
	};

	responder_complete_receive(engine, qp, &cqe);
}

/* --- what is owed ---------------------------------------------------------------------------- */

static void owe(struct qp *qp, uint8_t syndrome, struct rnic_psn psn)
{
	struct responder *responder = &qp->responder;

	responder->has_acknowledge = true;
	responder->syndrome = syndrome;
	responder->acknowledge_psn = psn;
	responder->acknowledge_msn = responder->msn;
	qp_make_ready(qp);
}

static bool owes_nak(const struct responder *responder)
{
	return responder->has_acknowledge &&
	       rnic_syndrome_kind(responder->syndrome) != RNIC_SYNDROME_ACK;
}

void responder_queue_ack(struct qp *qp, struct rnic_psn psn)
{
	const struct responder *responder = &qp->responder;
	bool owes_more = responder->has_acknowledge &&
			 rnic_psn_distance(responder->acknowledge_psn, psn) > 0;

	if (!owes_nak(responder) && !owes_more)
		owe(qp, RESPONDER_ACK_SYNDROME, psn);
}

/* Ends the message under way in error, and the QP's work with it. */
static void stop(struct engine *engine, struct qp *qp, enum verdict verdict,
		 bool is_receive_at_fault)
{
	const struct verdict_row *row = verdict_row(verdict);

	qp->responder.open_operation = RNIC_OPERATION_NONE;
	if (is_receive_at_fault && qp->responder.has_receive)
		complete_receive_in_error(engine, qp, verdict);
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
	/* Of two failures the earlier is told; after an error of our own side nothing is. */
	if (responder->has_fatal_nak ? rnic_psn_distance(psn, responder->acknowledge_psn) >= 0
				     : qp->state == RNIC_QP_STATE_ERR)
		return;
	responder_resources_cancel_from(&responder->resources, psn);
	owe(qp, row->syndrome, psn);
	if (responder->has_fatal_nak)
		return;
	responder->has_fatal_nak = true;
	stop(engine, qp, verdict, is_receive_at_fault);
}

void responder_fail(struct engine *engine, struct qp *qp, enum verdict verdict, struct rnic_psn psn,
		    bool is_receive_at_fault)
{
	if (qp_is_reliable(qp))
		fail_reliable(engine, qp, verdict, psn, is_receive_at_fault);
	else if (qp->state != RNIC_QP_STATE_ERR)
		stop(engine, qp, verdict, is_receive_at_fault);
}

/*
 * UC and UD: forgets the message under way. Its receive entry is used by the next one, or goes back
 * to its SRQ, where others wait for it.
 */
static void drop_message(struct engine *engine, struct qp *qp)
{
	engine->counters[COUNTER_DROPPED_MESSAGES]++;
	qp->responder.open_operation = RNIC_OPERATION_NONE;
	responder_give_back(qp);
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
		drop_message(engine, qp);
		return;
	}
	if (row->takes_receive)
		responder_try_take_receive(request);
	responder_fail(engine, qp, verdict, request->packet->psn, true);
}

/* --- requests -------------------------------------------------------------------------------- */

/* IBTA 1.4, 9.7.5.1. */
static void ask_for_missing(struct qp *qp)
{
	struct responder *responder = &qp->responder;

	responder->has_nak_pending = true;
	owe(qp, verdict_row(VERDICT_SEQUENCE_GAP)->syndrome, responder->expected_psn);
}

/* The packet that was expected, and all checks passed. */
static void accept(struct request *request)
{
	const struct rnic_packet *packet = request->packet;
	struct qp *qp = request->qp;
	struct responder *responder = &qp->responder;
	/* A NAK that has not left yet asks for too much now, but it stood for acknowledgements. */
	bool has_stale_nak = owes_nak(responder);
	enum verdict verdict;

	if (has_stale_nak)
		responder->has_acknowledge = false;
	responder->has_nak_pending = false;
	responder->expected_psn = rnic_psn_add(packet->psn, 1);
	verdict = responder_execute(request);
	if (verdict != VERDICT_PASS)
		responder_refuse(request, verdict);
	if (qp->state == RNIC_QP_STATE_ERR)
		return;
	if (rnic_psn_distance(responder->gap_end, responder->expected_psn) <= 0)
		responder->gap_end = responder->expected_psn;
	else if (has_stale_nak)
		ask_for_missing(qp);
	if (request_is_acknowledged(packet) && (packet->ack_request || has_stale_nak))
		responder_queue_ack(qp, packet->psn);
}

/* Drops the packet, asks once for what is missing, and waits in silence for it. */
static void receive_after_gap(struct qp *qp, struct rnic_psn psn)
{
	struct responder *responder = &qp->responder;

	if (rnic_psn_distance(psn, responder->gap_end) >= 0)
		responder->gap_end = rnic_psn_add(psn, 1);
	if (!responder->has_nak_pending)
		ask_for_missing(qp);
}

/* Asks for the same packet again later; what follows it is a gap by then, and ignored. */
static void receive_not_ready(struct qp *qp, const struct rnic_packet *packet)
{
	qp->responder.has_nak_pending = true;
	owe(qp, rnic_syndrome_make(RNIC_SYNDROME_RNR_NAK, qp->attributes.min_rnr_timer),
	    packet->psn);
}

/* UC: gets in step with the packet's PSN. False when it is late, or its message was dropped. */
static bool responder_uc_resync(struct engine *engine, struct qp *qp,
				const struct rnic_packet *packet)
{
	struct responder *responder = &qp->responder;
	int32_t ahead = rnic_psn_distance(packet->psn, responder->expected_psn);
	bool continues = ahead == 0 && !request_is_first(packet) &&
			 packet->row->operation == responder->open_operation;

	if (ahead < 0 && ahead >= -LIMIT_UC_LATE_PACKETS) {
		engine->counters[COUNTER_DUPLICATE_REQUESTS]++;
		return false;
	}
	responder->expected_psn = rnic_psn_add(packet->psn, 1);
	if (ahead != 0)
		engine->counters[COUNTER_OUT_OF_SEQUENCE_REQUESTS]++;
	if (!continues && responder->open_operation != RNIC_OPERATION_NONE)
		drop_message(engine, qp);
	return continues || request_is_first(packet);
}

static void receive_unreliable(struct request *request)
{
	enum verdict verdict;

	if (!responder_uc_resync(request->engine, request->qp, request->packet))
		return;
	verdict = request_check(request);
	if (verdict == VERDICT_PASS)
		verdict = responder_execute(request);
	if (verdict != VERDICT_PASS)
		responder_refuse(request, verdict);
}

static void receive_reliable(struct request *request)
{
	struct engine *engine = request->engine;
	enum verdict verdict = request_check(request);

	switch (verdict) {
	case VERDICT_PASS:
		accept(request);
		break;
	case VERDICT_DUPLICATE:
		engine->counters[COUNTER_DUPLICATE_REQUESTS]++;
		responder_repeat(request->qp, request->packet);
		break;
	case VERDICT_SEQUENCE_GAP:
		engine->counters[COUNTER_OUT_OF_SEQUENCE_REQUESTS]++;
		receive_after_gap(request->qp, request->packet->psn);
		break;
	case VERDICT_NO_RECEIVE:
		receive_not_ready(request->qp, request->packet);
		break;
	default:
		responder_refuse(request, verdict);
		break;
	}
}

void responder_receive(struct engine *engine, struct qp *qp, const struct rnic_packet *packet)
{
	struct request request = {.engine = engine, .qp = qp, .packet = packet, .srq = qp->srq};

	if (qp_is_reliable(qp))
		receive_reliable(&request);
	else
		receive_unreliable(&request);
	check_invariants(qp);
}

void responder_write_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn, uint32_t msn,
			    bool is_receive_at_fault)
{
	/* It and the messages behind it are received no more. */
	qp->responder.msn = msn;
	responder_fail(engine, qp, VERDICT_MEMORY_GONE, psn, is_receive_at_fault);
}

void responder_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn, int error)
{
	(void)error; /* unmapped or gone: the peer is told the same */
	responder_fail(engine, qp, VERDICT_MEMORY_GONE, psn, false);
}

void responder_forget_srq(struct qp *qp, const struct srq *srq)
{
	struct responder *responder = &qp->responder;

	if (!responder->has_receive || responder->receive_srq != srq)
		return;
	responder->has_receive = false;
	responder_fail(qp->engine, qp, VERDICT_BAD_SRQ, responder->expected_psn, false);
}

void responder_flush(struct engine *engine, struct qp *qp)
{
	struct responder *responder = &qp->responder;

	responder->open_operation = RNIC_OPERATION_NONE;
	responder->has_nak_pending = false;
	if (!responder->has_fatal_nak) {
		responder->has_acknowledge = false;
		responder_resources_clear(&responder->resources);
	}
	if (responder->has_receive)
		complete_receive_in_error(engine, qp, VERDICT_FLUSHED);
	if (!qp_has_recv_queue(qp))
		return;
	/* Bounded: a client that posts as fast as we flush is served by qp_flush_receives(). */
	for (uint32_t i = 0; i < LIMIT_WR_DEPTH && responder_try_take(engine, qp, NULL); i++)
		complete_receive_in_error(engine, qp, VERDICT_FLUSHED);
}
