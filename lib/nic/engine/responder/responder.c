/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/responder/responder.h"

#include "lib/nic/engine/objects/kept.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/progress/receive_wqe.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/reliability/acknowledgement.h"
#include "lib/nic/engine/reliability/holes.h"
#include "lib/nic/engine/reliability/withheld_acknowledgement.h"
#include "lib/nic/engine/responder/request_checks.h"
#include "lib/nic/engine/responder/responder_answer.h"
#include "lib/nic/engine/responder/responder_execute.h"
#include "lib/nic/engine/responder/responder_fail.h"
#include "proto/wire/peer_kind.h"
#include "proto/wire/syndrome.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static void check_invariants(const struct qp *qp)
{
	const struct responder *responder = &qp->responder;

	/* A SEND holds a receive WQE from its first packet to its last; UC keeps it longer. */
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

/* --- requests -------------------------------------------------------------------------------- */

/* IBTA 1.4, 9.7.5.1. */
static void ask_for_missing(struct qp *qp)
{
	struct responder *responder = &qp->responder;

	responder->has_nak_pending = true;
	responder->asked_psn = responder->expected_psn;
	acknowledgement_owe(qp, verdict_row(VERDICT_SEQUENCE_GAP)->syndrome,
			    responder->expected_psn);
}

/* Asks for the same packet again later; the packets behind it are a gap by then, and ignored. */
static void receive_not_ready(struct qp *qp, const struct rnic_packet *packet)
{
	kept_forget(qp->engine, &qp->kept);
	/* The NAK acknowledges all before it. */
	withheld_acknowledgement_drop(qp);
	qp->responder.sends_again = false;
	qp->responder.has_nak_pending = true;
	qp->responder.is_not_ready = true;
	acknowledgement_owe(qp,
			    rnic_syndrome_make(RNIC_SYNDROME_RNR_NAK, qp->attributes.min_rnr_timer),
			    packet->psn);
}

/* The packet that was expected, and all checks passed. False when the QP is in error now. */
static bool execute_expected(struct request *request)
{
	struct qp *qp = request->qp;
	enum verdict verdict;

	qp->responder.expected_psn = rnic_psn_add(request->packet->psn, 1);
	verdict = responder_execute(request);
	if (verdict != VERDICT_PASS)
		responder_refuse(request, verdict);
	return qp->state != RNIC_QP_STATE_ERR;
}

/* Kept until now, and expected now. False when nothing may follow. */
static bool take_kept(struct qp *qp, const struct rnic_packet *packet)
{
	struct request request = {.engine = qp->engine, .qp = qp, .packet = packet, .srq = qp->srq};
	enum verdict verdict = request_check(&request);

	if (verdict == VERDICT_PASS)
		return execute_expected(&request);
	if (verdict == VERDICT_NO_RECEIVE)
		receive_not_ready(qp, packet);
	else
		responder_refuse(&request, verdict);
	return false;
}

/* Whether a packet that the QP keeps is expected now, or came again meanwhile. */
static bool has_expected_kept(const struct qp *qp)
{
	return qp->kept.first != NULL &&
	       rnic_psn_distance(qp->kept.first->packet.psn, qp->responder.expected_psn) <= 0;
}

/* A slice of the packets that are expected now. */
static void take_slice(struct qp *qp)
{
	struct kept_packet *taken = NULL;
	bool goes_on = true;

	for (uint32_t i = 0; i < LIMIT_KEPT_SLICE && goes_on && qp->kept.first != NULL; i++) {
		const struct rnic_packet *packet = &qp->kept.first->packet;
		int32_t ahead = rnic_psn_distance(packet->psn, qp->responder.expected_psn);
		struct kept_packet *first;

		if (ahead > 0)
			break;
		first = kept_take_first(&qp->kept);
		first->next = taken;
		taken = first;
		if (ahead == 0)
			goes_on = take_kept(qp, packet);
	}
	/* Their payload lies in the slots. */
	placement_run(qp->engine);
	kept_give_back_all(qp->engine, taken);
}

/*
 * Linux rxe is about to send what was kept again, and then gets its acknowledgement (see
 * acknowledge_again() in responder_answer.c). The same holds for what rxe had sent behind it when
 * the NAK came (withheld_acknowledgement.h). The price: rxe heeds the next NAK only after an ACK.
 * So a packet that is lost once more costs rxe's ACK timeout.
 */
static bool acknowledges_kept(const struct qp *qp)
{
	return qp->peer_kind != RNIC_PEER_KIND_RXE || !qp->responder.sends_again;
}

void responder_drain(struct qp *qp)
{
	struct responder *responder = &qp->responder;
	struct rnic_psn start = responder->expected_psn;

	take_slice(qp);
	if (qp->state == RNIC_QP_STATE_ERR || responder->is_not_ready)
		return;
	if (has_expected_kept(qp)) {
		list_remove(&qp->kept.drain_node);
		list_add_tail(&qp->engine->kept.draining, &qp->kept.drain_node);
		return;
	}
	if (!rnic_psn_equal(start, responder->expected_psn)) {
		if (acknowledges_kept(qp))
			acknowledgement_queue(qp, rnic_psn_add(responder->expected_psn, -1));
		else
			withheld_acknowledgement_begin(qp);
	}
	if (qp->kept.first != NULL)
		kept_note_progress(qp->engine, &qp->kept);
	if (rnic_psn_distance(responder->gap_end, responder->expected_psn) <= 0)
		responder->gap_end = responder->expected_psn;
	else
		holes_owe(qp);
}

/*
 * A packet of a gap came. Its NAK still stands while the gap is not closed; `has_stale_nak`: that
 * NAK asked for too much, and has not left.
 */
static void go_on_in_gap(struct qp *qp, bool was_asked, bool has_stale_nak)
{
	struct responder *responder = &qp->responder;

	if (has_expected_kept(qp))
		responder_drain(qp);
	else if (has_stale_nak)
		ask_for_missing(qp);
	else
		responder->has_nak_pending = was_asked;
}

/* The packet that was expected, and all checks passed. */
static void accept(struct request *request)
{
	const struct rnic_packet *packet = request->packet;
	struct qp *qp = request->qp;
	struct responder *responder = &qp->responder;
	/* A NAK that has not left yet asks for too much now, but stood for acknowledgements. */
	bool has_stale_nak = acknowledgement_owes_nak(responder);
	bool was_asked = responder->has_nak_pending;
	/* Sent before the NAK came there, so that it is among what is about to come again. */
	bool comes_again = withheld_acknowledgement_is_on(qp);

	if (has_stale_nak)
		responder->has_acknowledge = false;
	else if (was_asked)
		responder->sends_again = true;
	if (!comes_again && rnic_psn_distance(responder->gap_end, packet->psn) <= 0)
		responder->sends_again = false;
	responder->has_nak_pending = false;
	responder->is_not_ready = false;
	if (!execute_expected(request))
		return;
	if (qp->kept.first != NULL)
		go_on_in_gap(qp, was_asked, has_stale_nak);
	else if (rnic_psn_distance(responder->gap_end, responder->expected_psn) <= 0)
		responder->gap_end = responder->expected_psn;
	else if (has_stale_nak)
		ask_for_missing(qp);
	/* Only when all of it is taken is what is kept acknowledged. */
	if (qp->state == RNIC_QP_STATE_ERR || has_expected_kept(qp) || comes_again)
		return;
	if (request_is_acknowledged(packet) && (packet->ack_request || has_stale_nak))
		acknowledgement_queue(qp, packet->psn);
}

/*
 * Keeps the packet (SENDs and WRITEs) or drops it, asks once for the missing packets, and waits in
 * silence for them. A packet from before the end of the gap shows that the requester has gone back
 * to the gap, and that what is missing of the gap now is lost again.
 */
static void receive_after_gap(struct qp *qp, const struct rnic_packet *packet)
{
	struct responder *responder = &qp->responder;
	const bool comes_again = rnic_psn_distance(packet->psn, responder->gap_end) < 0;
	const bool shows_hole = rnic_psn_distance(packet->psn, responder->gap_end) > 0;

	if (!comes_again)
		responder->gap_end = rnic_psn_add(packet->psn, 1);
	if (!responder->is_not_ready && request_is_acknowledged(packet))
		kept_add(qp->engine, &qp->kept, packet);
	if (has_expected_kept(qp))
		return;
	if (packet->ack_request || shows_hole)
		holes_owe(qp);
	if (!responder->has_nak_pending ||
	    (comes_again && !responder->is_not_ready &&
	     !rnic_psn_equal(responder->asked_psn, responder->expected_psn)))
		ask_for_missing(qp);
}

/* UC: resynchronises with the packet's PSN. False when the packet is late, or its message was
 * dropped. */
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
		responder_drop_message(engine, qp);
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

/*
 * The first packet that comes has a PSN that no loss explains: the programs agreed on others. Their
 * peer gets no answer that it could use.
 */
static void suspect_first_psn(struct qp *qp, struct rnic_psn psn)
{
	const struct responder *responder = &qp->responder;
	const int32_t ahead = rnic_psn_distance(psn, responder->expected_psn);

	if (responder->msn == 0 &&
	    rnic_psn_equal(responder->expected_psn, rnic_psn(qp->attributes.rq_psn)) &&
	    (ahead < 0 || ahead > LIMIT_FIRST_GAP_PACKETS))
		qp_note_trouble(qp, VERDICT_FIRST_PSN);
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
		engine->refusal_verdict = verdict;
		suspect_first_psn(request->qp, request->packet->psn);
		responder_repeat(request->qp, request->packet);
		break;
	case VERDICT_SEQUENCE_GAP:
		engine->counters[COUNTER_OUT_OF_SEQUENCE_REQUESTS]++;
		engine->refusal_verdict = verdict;
		suspect_first_psn(request->qp, request->packet->psn);
		receive_after_gap(request->qp, request->packet);
		break;
	case VERDICT_NO_RECEIVE:
		engine->refusal_verdict = verdict;
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

void responder_write_failed(struct engine *engine, struct qp *qp,
			    const struct placement_failures *failures)
{
	const enum verdict verdict = responder_memory_verdict(engine, qp, failures->request_error,
							      failures->is_of_receive);

	/* It and the messages behind it are received no more. */
	qp->responder.msn = failures->request_msn;
	responder_fail(engine, qp, verdict, failures->request_psn, failures->is_receive_at_fault);
}

static bool is_later(uint32_t msn, uint32_t other_msn)
{
	return rnic_psn_distance(rnic_psn(msn), rnic_psn(other_msn)) > 0;
}

void responder_take_back(struct qp *qp, uint32_t msn)
{
	struct responder *responder = &qp->responder;

	/* The answer to a READ acknowledges the messages before the READ, too. */
	if (is_later(responder->msn, msn))
		responder_resources_clear(&responder->resources);
	if (is_later(responder->acknowledge_msn, msn))
		responder->has_acknowledge = false;
}

void responder_take_all_back(struct qp *qp)
{
	responder_resources_clear(&qp->responder.resources);
	qp->responder.has_acknowledge = false;
}

void responder_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn, int error)
{
	responder_fail(engine, qp, responder_memory_verdict(engine, qp, error, false), psn, false);
}

void responder_forget_srq(struct qp *qp, const struct srq *srq)
{
	struct responder *responder = &qp->responder;

	if (!responder->has_receive || responder->receive_srq != srq)
		return;
	responder->has_receive = false;
	responder_fail(qp->engine, qp, VERDICT_BAD_SRQ, responder->expected_psn, false);
}
