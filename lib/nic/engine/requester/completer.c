/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/requester/completer.h"

#include "lib/nic/engine/objects/kept.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/objects/qp_record.h"
#include "lib/nic/engine/packet_builder.h"
#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/progress/send_completion.h"
#include "lib/nic/engine/progress/send_position.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/credits.h"
#include "lib/nic/engine/reliability/retry_timer.h"
#include "lib/nic/engine/requester/gather.h"
#include "lib/nic/engine/requester/repair.h"
#include "lib/nic/engine/requester/response_gap.h"
#include "lib/nic/engine/requester/retry.h"
#include "proto/wire/syndrome.h"

#include <assert.h>

/* --- the acknowledged end -------------------------------------------------------------------- */

static struct send_wqe *oldest_wqe(struct qp *qp)
{
	return send_queue_at(&qp->send_queue, qp->send_queue.retired);
}

static bool completer_is_alive(const struct qp *qp)
{
	return qp->state == RNIC_QP_STATE_RTS || qp->state == RNIC_QP_STATE_SQD;
}

/* The next `packets` of the oldest WQE are done; completes the WQE when they are its last. */
static void completer_advance(struct engine *engine, struct qp *qp, uint32_t packets)
{
	send_position_advance(engine, qp, packets);
	if (wqe_packet_index(oldest_wqe(qp), qp->requester.unacknowledged) ==
	    oldest_wqe(qp)->packets)
		send_completion_complete_oldest(engine, qp, RNIC_WC_SUCCESS, VERDICT_PASS);
}

/*
 * Something arrived that proves a gap at the oldest unacknowledged packet. Goes back once: packets
 * still under way behind the same gap say nothing new.
 */
static void go_back(struct engine *engine, struct qp *qp)
{
	if (!completer_is_alive(qp) || qp->requester.has_gone_back ||
	    qp->retry.running == RETRY_TIMER_RNR)
		return;
	retry_sequence_error(engine, qp);
	qp->requester.has_gone_back = completer_is_alive(qp);
}

/* The peer sends a NAK once: the NAK counts when all before it is acknowledged. */
static void take_late_nak(struct engine *engine, struct qp *qp)
{
	struct requester *requester = &qp->requester;
	const int32_t beyond = rnic_psn_distance(requester->unacknowledged, requester->late_nak);

	if (beyond < 0)
		return;
	requester->has_late_nak = false;
	if (beyond == 0)
		go_back(engine, qp);
}

static void note_progress(struct engine *engine, struct qp *qp)
{
	if (!completer_is_alive(qp))
		return;
	if (qp_is_reliable(qp))
		retry_timer_progress(engine, qp);
	ready_list_add(qp);
	send_completion_check_drained(qp);
	if (qp->requester.has_late_nak)
		take_late_nak(engine, qp);
}

/*
 * All packets before `end` are acknowledged, which completes SENDs and WRITEs. True when the
 * acknowledged end reaches `end`; false when a READ or atomic without its response comes before, or
 * the QP went into error.
 */
static bool acknowledge_before(struct engine *engine, struct qp *qp, struct rnic_psn end)
{
	const struct requester *requester = &qp->requester;
	struct rnic_psn start = requester->unacknowledged;

	while (completer_is_alive(qp) && !rnic_psn_equal(requester->unacknowledged, end)) {
		const struct send_wqe *wqe = oldest_wqe(qp);
		uint32_t wanted = (uint32_t)rnic_psn_distance(end, requester->unacknowledged);
		uint32_t left = wqe->packets - wqe_packet_index(wqe, requester->unacknowledged);

		if (wqe_operation(wqe)->has_response)
			break;
		completer_advance(engine, qp, wanted < left ? wanted : left);
	}
	if (!rnic_psn_equal(requester->unacknowledged, start))
		note_progress(engine, qp);
	return completer_is_alive(qp) && rnic_psn_equal(requester->unacknowledged, end);
}

bool completer_packets_read_before(struct engine *engine, struct qp *qp, struct rnic_psn end)
{
	assert(!qp_is_reliable(qp));
	return completer_is_alive(qp) && acknowledge_before(engine, qp, end);
}

void completer_packets_read(struct engine *engine, struct qp *qp)
{
	completer_packets_read_before(engine, qp, qp->requester.psn);
}

/* --- responses ------------------------------------------------------------------------------- */

static void receive_positive(struct engine *engine, struct qp *qp, struct rnic_psn psn,
			     uint8_t syndrome)
{
	const struct send_wqe *wqe;

	engine->counters[COUNTER_ACKNOWLEDGES_RECEIVED]++;
	if (acknowledge_before(engine, qp, rnic_psn_add(psn, 1))) {
		credits_learn(engine, qp, syndrome);
		if (qp->requester.repair.is_under_way)
			repair_acknowledged(engine, qp);
		return;
	}
	if (!completer_is_alive(qp))
		return;
	/* A repeated acknowledgement may name a PSN of the READ whose answer follows it. */
	wqe = oldest_wqe(qp);
	if (wqe_packet_index(wqe, psn) >= wqe->packets)
		go_back(engine, qp);
}

static enum verdict nak_verdict(uint8_t code)
{
	switch ((enum rnic_nak_code)code) {
	case RNIC_NAK_INVALID_REQUEST:
		return VERDICT_REMOTE_INVALID_REQUEST;
	case RNIC_NAK_REMOTE_ACCESS_ERROR:
		return VERDICT_REMOTE_ACCESS;
	case RNIC_NAK_REMOTE_OPERATIONAL_ERROR:
	case RNIC_NAK_INVALID_RD_REQUEST:
		return VERDICT_REMOTE_OPERATIONAL;
	case RNIC_NAK_PSN_SEQUENCE_ERROR:
		break;
	}
	return VERDICT_BAD_RESPONSE;
}

/* A NAK of any kind: all before `psn` arrived, and `psn` is refused. IBTA 1.4, 9.7.5.2.2. */
static void receive_negative(struct engine *engine, struct qp *qp, struct rnic_psn psn,
			     uint8_t syndrome)
{
	uint8_t value = rnic_syndrome_value(syndrome);
	bool is_rnr = rnic_syndrome_kind(syndrome) == RNIC_SYNDROME_RNR_NAK;

	if (!acknowledge_before(engine, qp, psn)) {
		qp->requester.has_late_nak = !is_rnr && value == RNIC_NAK_PSN_SEQUENCE_ERROR;
		qp->requester.late_nak = psn;
		go_back(engine, qp);
		return;
	}
	qp_record_nak(qp, RNIC_RECORD_NAK_RECEIVED, syndrome, psn.value);
	if (is_rnr) {
		engine->counters[COUNTER_RECEIVED_RNR_NAKS]++;
		qp->counters.rnr_naks_received++;
		credits_refused(qp);
		retry_rnr(engine, qp, value);
	} else if (value == RNIC_NAK_PSN_SEQUENCE_ERROR) {
		engine->counters[COUNTER_RECEIVED_SEQUENCE_NAKS]++;
		qp->counters.sequence_naks_received++;
		go_back(engine, qp);
	} else {
		engine->counters[COUNTER_RECEIVED_NAKS]++;
		qp_fail_send(engine, qp, nak_verdict(value));
	}
}

static void receive_acknowledge(struct engine *engine, struct qp *qp,
				const struct rnic_packet *packet)
{
	switch (rnic_syndrome_kind(packet->aeth.syndrome)) {
	case RNIC_SYNDROME_ACK:
		receive_positive(engine, qp, packet->psn, packet->aeth.syndrome);
		break;
	case RNIC_SYNDROME_RNR_NAK:
	case RNIC_SYNDROME_NAK:
		receive_negative(engine, qp, packet->psn, packet->aeth.syndrome);
		break;
	case RNIC_SYNDROME_RESERVED:
		engine->counters[COUNTER_BAD_RESPONSES]++;
		break;
	}
}

/* Puts `length` bytes of a response at `offset` of the oldest WQE's SGEs. */
static enum verdict completer_scatter(struct engine *engine, struct qp *qp, uint32_t offset,
				      const uint8_t *bytes, uint32_t length)
{
	struct payload_piece pieces[LIMIT_SGES];
	uint32_t piece_count = 0;
	enum verdict verdict = gather_bytes(engine, qp, qp->send_queue.retired, offset, length,
					    pieces, &piece_count);

	for (uint32_t i = 0; verdict == VERDICT_PASS && i < piece_count; i++) {
		const struct memory_transfer transfer = {
			.region = pieces[i].region,
			.offset = pieces[i].offset,
			.bytes = (uint8_t *)(uintptr_t)bytes, /* only read: a source */
			.length = pieces[i].length,
		};

		const int error = placement_write(engine, qp, &transfer, PLACEMENT_RESPONSE,
						  qp->requester.unacknowledged);

		if (error != 0)
			verdict = verdict_of_local_memory(error);
		bytes += pieces[i].length;
	}
	return verdict;
}

/* An end from before half of all PSNs is not taken for one that is ahead. */
static bool may_end_part(const struct requester *requester, struct rnic_psn psn)
{
	return rnic_psn_distance(psn, requester->part_end) < 0 &&
	       rnic_psn_distance(requester->part_end, requester->highest) <= 0;
}

/*
 * Whether the payload is that of packet `index` of the READ, whose last ends its request's answer.
 * The answer to a request for a part of a READ ends before, also when all was asked for since.
 * FLUSH and ATOMIC WRITE are answered like a READ of no bytes.
 */
static bool is_expected_response(const struct qp *qp, const struct send_wqe *wqe, uint32_t index,
				 const struct rnic_packet *packet)
{
	bool is_end = send_position_read_packets(wqe, index) == 1;
	bool claims_end = packet->row->position == RNIC_POSITION_LAST ||
			  packet->row->position == RNIC_POSITION_ONLY;
	bool may_be_end = may_end_part(&qp->requester, packet->psn) ||
			  rnic_psn_distance(packet->psn, qp->requester.psn) >= -1;
	uint64_t offset = (uint64_t)index * qp->path_mtu_bytes;
	uint64_t left = wqe_operation(wqe)->has_result ? wqe->length - offset : 0;

	return (claims_end ? is_end || may_be_end : !is_end) &&
	       packet->payload_bytes == (left < qp->path_mtu_bytes ? left : qp->path_mtu_bytes);
}

/* Whether an atomic acknowledgement answers the WQE, not READ responses. */
static bool completer_is_atomic(const struct rnic_wr_operation *operation)
{
	return rnic_request_operations[operation->request].answer == RNIC_ANSWER_ATOMIC_ACKNOWLEDGE;
}

static void note_answer(struct engine *engine, struct qp *qp, const struct rnic_packet *packet)
{
	if (qp->requester.repair.is_under_way)
		repair_answered(qp);
	if (packet->row->headers & RNIC_HEADER_AETH)
		credits_learn(engine, qp, packet->aeth.syndrome);
}

/* A response came behind one that is missing. True: it waits for that one. */
static bool keep_response(struct qp *qp, const struct rnic_packet *packet, bool is_read)
{
	const uint32_t index = send_position_wqe_index_of(qp, packet->psn);
	const struct send_wqe *wqe;

	if (index == qp->send_queue.next || qp->retry.running == RETRY_TIMER_RNR)
		return false;
	wqe = send_queue_at(&qp->send_queue, index);
	if (!wqe_operation(wqe)->has_response || is_read == completer_is_atomic(wqe_operation(wqe)))
		return false;
	return (!is_read ||
		is_expected_response(qp, wqe, wqe_packet_index(wqe, packet->psn), packet)) &&
	       response_gap_keep(qp, packet);
}

/*
 * Brings the acknowledged end to the PSN of a response, and learns of credits. True when the
 * response fits the oldest WQE; otherwise the consequences were carried out.
 */
static bool reach_response(struct engine *engine, struct qp *qp, const struct rnic_packet *packet,
			   bool is_read)
{
	const struct rnic_wr_operation *operation;

	if (!acknowledge_before(engine, qp, packet->psn)) {
		if (completer_is_alive(qp) && !keep_response(qp, packet, is_read))
			go_back(engine, qp);
		return false;
	}
	note_answer(engine, qp, packet);
	operation = wqe_operation(oldest_wqe(qp));
	if (operation->has_response && is_read != completer_is_atomic(operation))
		return true;
	qp_fail_send(engine, qp, VERDICT_BAD_RESPONSE);
	return false;
}

/* The bytes of the response to the oldest packet are on their way, or `verdict` says why not. */
static void finish_response(struct engine *engine, struct qp *qp, enum verdict verdict)
{
	if (!completer_is_alive(qp))
		return;
	if (verdict != VERDICT_PASS) {
		qp_fail_send(engine, qp, verdict);
		return;
	}
	completer_advance(engine, qp, 1);
	note_progress(engine, qp);
}

static void take_read_response(struct engine *engine, struct qp *qp,
			       const struct rnic_packet *packet)
{
	const uint32_t index = wqe_packet_index(oldest_wqe(qp), packet->psn);

	finish_response(engine, qp,
			completer_scatter(engine, qp, index * qp->path_mtu_bytes, packet->payload,
					  packet->payload_bytes));
}

static void take_atomic_acknowledge(struct engine *engine, struct qp *qp,
				    const struct rnic_packet *packet)
{
	uint64_t original = packet->atomic_original;
	const enum verdict verdict =
		completer_scatter(engine, qp, 0, (const uint8_t *)&original, sizeof(original));

	/* The bytes are on this stack. */
	placement_run(engine);
	finish_response(engine, qp, verdict);
}

/*
 * READ responses are taken in order. A request that was sent again from its middle may be answered
 * by FIRST...LAST or by MIDDLE...LAST, as responders differ.
 */
static void receive_read_response(struct engine *engine, struct qp *qp,
				  const struct rnic_packet *packet)
{
	const struct send_wqe *wqe;

	if (!reach_response(engine, qp, packet, true))
		return;
	wqe = oldest_wqe(qp);
	if (is_expected_response(qp, wqe, wqe_packet_index(wqe, packet->psn), packet))
		take_read_response(engine, qp, packet);
	else
		qp_fail_send(engine, qp, VERDICT_BAD_RESPONSE);
}

static void receive_atomic_acknowledge(struct engine *engine, struct qp *qp,
				       const struct rnic_packet *packet)
{
	if (reach_response(engine, qp, packet, false))
		take_atomic_acknowledge(engine, qp, packet);
}

/* --- responses that were kept ----------------------------------------------------------------- */

/* Whether the first response that is kept follows now, or came again meanwhile. */
static bool reaches_kept(struct engine *engine, struct qp *qp)
{
	const struct rnic_psn psn = qp->kept_responses.first->packet.psn;

	return rnic_psn_distance(psn, qp->requester.unacknowledged) < 0 ||
	       acknowledge_before(engine, qp, psn);
}

/* A response that was kept, and checked when it came. */
static void take_kept_response(struct engine *engine, struct qp *qp,
			       const struct rnic_packet *packet)
{
	if (!rnic_psn_equal(packet->psn, qp->requester.unacknowledged))
		return; /* came again meanwhile */
	note_answer(engine, qp, packet);
	if (packet->row->operation == RNIC_OPERATION_READ_RESPONSE)
		take_read_response(engine, qp, packet);
	else
		take_atomic_acknowledge(engine, qp, packet);
}

void completer_drain(struct qp *qp)
{
	struct engine *engine = qp->engine;
	struct kept *kept = &qp->kept_responses;
	struct kept_packet *taken = NULL;

	for (uint32_t i = 0; i < LIMIT_KEPT_SLICE && completer_is_alive(qp) &&
			     kept->first != NULL && reaches_kept(engine, qp);
	     i++) {
		struct kept_packet *first = kept_take_first(kept);

		first->next = taken;
		taken = first;
		take_kept_response(engine, qp, &first->packet);
	}
	/* Their payload lies in the slots. */
	placement_run(engine);
	kept_give_back_all(engine, taken);
	if (kept->first == NULL || !completer_is_alive(qp))
		return;
	if (rnic_psn_distance(kept->first->packet.psn, qp->requester.unacknowledged) > 0) {
		kept_note_progress(engine, kept);
		return;
	}
	list_remove(&kept->drain_node);
	list_add_tail(&engine->kept.draining_responses, &kept->drain_node);
}

/* Kept responses may follow what was acknowledged or answered now. */
static void follow_up(struct qp *qp)
{
	if (qp->kept_responses.first != NULL && completer_is_alive(qp))
		completer_drain(qp);
}

/* The last acknowledgement again, which the peer sends unasked when it has credits to give. */
static bool is_word_of_credits(const struct requester *requester, const struct rnic_packet *packet)
{
	return packet->row->operation == RNIC_OPERATION_ACKNOWLEDGE &&
	       rnic_syndrome_kind(packet->aeth.syndrome) == RNIC_SYNDROME_ACK &&
	       rnic_psn_distance(packet->psn, requester->unacknowledged) == -1;
}

void completer_receive(struct engine *engine, struct qp *qp, const struct rnic_packet *packet)
{
	const struct requester *requester = &qp->requester;

	/* Copies of old responses are ordinary; a response to a packet that was never sent is not.
	 */
	if (rnic_psn_distance(packet->psn, requester->unacknowledged) < 0) {
		if (is_word_of_credits(requester, packet))
			credits_learn(engine, qp, packet->aeth.syndrome);
		return;
	}
	if (rnic_psn_distance(packet->psn, requester->highest) >= 0) {
		engine->counters[COUNTER_BAD_RESPONSES]++;
		return;
	}
	switch (packet->row->operation) {
	case RNIC_OPERATION_ACKNOWLEDGE:
		receive_acknowledge(engine, qp, packet);
		break;
	case RNIC_OPERATION_READ_RESPONSE:
		receive_read_response(engine, qp, packet);
		break;
	case RNIC_OPERATION_ATOMIC_ACKNOWLEDGE:
		receive_atomic_acknowledge(engine, qp, packet);
		break;
	default:
		break;
	}
	follow_up(qp);
}
