/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/responder/responder_answer.h"

#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/objects/pd.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/objects/srq_queue.h"
#include "lib/nic/engine/objects/xrcd.h"
#include "lib/nic/engine/packet_builder.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/acknowledgement.h"
#include "lib/nic/engine/reliability/congestion.h"
#include "lib/nic/engine/reliability/credits.h"
#include "lib/nic/engine/reliability/delayed_acknowledgement.h"
#include "lib/nic/engine/reliability/exact_credits.h"
#include "lib/nic/engine/reliability/holes.h"
#include "lib/nic/engine/reliability/withheld_acknowledgement.h"
#include "lib/nic/engine/responder/request_checks.h"
#include "lib/nic/engine/responder/responder_fail.h"
#include "proto/wire/peer_kind.h"
#include "proto/wire/syndrome.h"

/* --- duplicates ------------------------------------------------------------------------------ */

/*
 * A duplicate READ is executed again from its PSN on, which may lie within the first READ (IBTA
 * 1.4, 9.7.5.1 and C9-110). A duplicate that asks for anything else is dropped.
 */
static void repeat_read(struct qp *qp, const struct rnic_packet *packet,
			struct responder_resource *responder_resource)
{
	uint32_t first_packet = (packet->psn.value - responder_resource->psn.value) & RNIC_PSN_MASK;
	uint64_t skip_bytes = (uint64_t)first_packet * qp->path_mtu_bytes;
	uint64_t end_bytes = skip_bytes + packet->reth.length;
	bool is_first_answer = responder_resource->is_pending && !responder_resource->is_repeat;

	if (packet->reth.rkey != responder_resource->rkey ||
	    end_bytes > responder_resource->length ||
	    packet->reth.address != responder_resource->address + skip_bytes)
		return;
	if (is_first_answer && responder_resource->answer.next_packet <= first_packet)
		return;
	responder_resource->is_repeat = !is_first_answer;
	responder_resource->is_pending = true;
	responder_resource->answer = (struct responder_resources_answer){
		.first_packet = first_packet,
		.next_packet = first_packet,
		.end_packet = first_packet + qp_packets_for(qp, packet->reth.length),
		.end_bytes = (uint32_t)end_bytes,
	};
	ready_list_add(qp);
}

/* The operation is not executed again: the first result is sent again. */
static void repeat_answer(struct qp *qp, struct responder_resource *responder_resource)
{
	if (responder_resource->is_pending)
		return;
	responder_resource->is_repeat = true;
	responder_resource->is_pending = true;
	responder_resource->answer.next_packet = 0;
	ready_list_add(qp);
}

/*
 * rxe sends at most 128 packets that were not acknowledged, and asks for an ACK every 64 packets: a
 * READ that is no further behind the last of these than this comes without another ACK.
 */
#define RXE_READ_NEAR_PACKETS 32

static bool is_read_near(const struct responder_resource *answer, struct rnic_psn psn)
{
	return answer != NULL && answer->operation == RNIC_OPERATION_READ_REQUEST &&
	       rnic_psn_distance(answer->psn, psn) <= RXE_READ_NEAR_PACKETS;
}

/*
 * Acknowledges the duplicate SEND or WRITE and all requests behind it, up to the next READ or
 * atomic. Going further would be as right (IBTA 1.4, 9.7.5.1.1): a requester that lacks an answer
 * asks for it again. But Linux rxe takes an ACK with the PSN of a READ or atomic for its answer,
 * and the request then succeeds there without data.
 *
 * Nothing behind the duplicate is acknowledged to rxe, for rxe is about to send it again. When the
 * ACK of a message comes amid that, rxe may give the requests behind it new PSNs, so that they
 * execute twice, or never completes it (findings/rxe-answer-amid-resend.sh). The last packet of
 * each message of rxe asks for an ACK. Where a READ follows soon, it is about to come again as
 * well, and its answer acknowledges the duplicate. rxe may have a part of the first answer to it,
 * and breaks when an ACK comes then (findings/rxe-late-ack-in-read.sh).
 */
static void acknowledge_again(struct qp *qp, const struct rnic_packet *packet)
{
	struct responder *responder = &qp->responder;
	struct rnic_psn end = responder->expected_psn;
	const struct responder_resource *answer;

	answer = responder_resources_find_between(&responder->resources, packet->psn, end);
	if (qp->peer_kind == RNIC_PEER_KIND_RXE) {
		if (packet->ack_request && !is_read_near(answer, packet->psn))
			acknowledgement_queue(qp, packet->psn);
		return;
	}
	acknowledgement_queue(qp, rnic_psn_add(answer != NULL ? answer->psn : end, -1));
}

void responder_repeat(struct qp *qp, const struct rnic_packet *packet)
{
	struct responder *responder = &qp->responder;
	struct responder_resource *responder_resource;

	qp->counters.duplicates_received++;
	/* The requester has gone back. */
	responder->sends_again = false;
	withheld_acknowledgement_drop(qp);
	delayed_acknowledgement_was_missed(qp);
	if (request_is_acknowledged(packet)) {
		acknowledge_again(qp, packet);
		return;
	}
	responder_resource = responder_resources_find(&responder->resources, packet->psn);
	if (responder_resource == NULL || responder_resource->operation != packet->row->operation)
		return;
	if (responder_resource->operation == RNIC_OPERATION_READ_REQUEST)
		repeat_read(qp, packet, responder_resource);
	else
		repeat_answer(qp, responder_resource);
}

/* --- answers --------------------------------------------------------------------------------- */

static enum counter acknowledge_counter(uint8_t syndrome)
{
	if (rnic_syndrome_kind(syndrome) == RNIC_SYNDROME_ACK)
		return COUNTER_ACKNOWLEDGES_SENT;
	if (rnic_syndrome_kind(syndrome) == RNIC_SYNDROME_RNR_NAK)
		return COUNTER_SENT_RNR_NAKS;
	if (rnic_syndrome_value(syndrome) == RNIC_NAK_PSN_SEQUENCE_ERROR)
		return COUNTER_SENT_SEQUENCE_NAKS;
	return COUNTER_SENT_NAKS;
}

static void build_acknowledge(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	struct responder *responder = &qp->responder;

	packet_builder_start(qp, out, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, 0,
			     responder->acknowledge_psn);
	out->packet.aeth = (struct rnic_aeth){responder->syndrome, responder->acknowledge_msn};
	responder->has_acknowledge = false;
	delayed_acknowledgement_sent(qp);
	engine->counters[acknowledge_counter(responder->syndrome)]++;
}

static void transmit_acknowledge(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	struct responder *responder = &qp->responder;

	if (responder->syndrome == ACKNOWLEDGEMENT_SYNDROME)
		responder->syndrome = credits_syndrome(engine, qp);
	build_acknowledge(engine, qp, out);
}

/* All others get READ responses, be it one of no bytes. */
static bool responder_answer_is_atomic(const struct responder_resource *responder_resource)
{
	return rnic_request_operations[responder_resource->operation].answer ==
	       RNIC_ANSWER_ATOMIC_ACKNOWLEDGE;
}

static void transmit_atomic(struct engine *engine, struct qp *qp,
			    struct responder_resource *responder_resource,
			    struct packet_builder *out)
{
	packet_builder_start(qp, out, RNIC_OPERATION_ATOMIC_ACKNOWLEDGE, RNIC_POSITION_ONLY, 0,
			     responder_resource->psn);
	out->packet.aeth =
		(struct rnic_aeth){credits_syndrome(engine, qp), responder_resource->msn};
	out->packet.atomic_original = responder_resource->original;
}

static enum rnic_position answer_position(const struct responder_resources_answer *answer)
{
	bool is_first = answer->next_packet == answer->first_packet;

	if (answer->next_packet + 1 == answer->end_packet)
		return is_first ? RNIC_POSITION_ONLY : RNIC_POSITION_LAST;
	return is_first ? RNIC_POSITION_FIRST : RNIC_POSITION_MIDDLE;
}

/* The protection domain of a READ's key; NULL when the XRC SRQ that it named is gone. */
static const struct pd *remote_pd(const struct qp *qp,
				  const struct responder_resource *responder_resource)
{
	const struct srq *srq;

	if (qp->xrcd == NULL)
		return qp->pd;
	srq = xrcd_find_srq(qp->engine, qp->xrcd, responder_resource->srqn);
	return srq != NULL ? srq->pd : NULL;
}

/* The next packet of a READ's answer. False when the region is there no more. */
static bool transmit_read(struct engine *engine, struct qp *qp,
			  const struct responder_resource *responder_resource,
			  struct packet_builder *out)
{
	const struct responder_resources_answer *answer = &responder_resource->answer;
	uint32_t skip_bytes = answer->next_packet * qp->path_mtu_bytes;
	uint32_t left_bytes = answer->end_bytes - skip_bytes;
	uint32_t bytes = left_bytes < qp->path_mtu_bytes ? left_bytes : qp->path_mtu_bytes;
	uint64_t offset = 0;
	struct mr *mr = NULL;

	if (bytes > 0) {
		mr = mr_find_remote(engine, responder_resource->rkey, qp,
				    remote_pd(qp, responder_resource), RNIC_ACCESS_REMOTE_READ,
				    responder_resource->address + skip_bytes, bytes, &offset);
		if (mr == NULL)
			return false;
	}
	packet_builder_start(qp, out, RNIC_OPERATION_READ_RESPONSE, answer_position(answer), 0,
			     rnic_psn_add(responder_resource->psn, (int32_t)answer->next_packet));
	if (out->packet.row->headers & RNIC_HEADER_AETH)
		out->packet.aeth =
			(struct rnic_aeth){credits_syndrome(engine, qp), responder_resource->msn};
	if (bytes > 0) {
		out->pieces[0] = (struct payload_piece){
			.region = mr->region,
			.offset = offset,
			.length = bytes,
		};
		out->piece_count = 1;
		out->packet.payload_bytes = bytes;
	}
	return true;
}

/*
 * The region of a READ is not there any more. One that was answered before may come again only
 * because the network made a copy of it: then the peer passes over the NAK, and we over its
 * reason. Otherwise it breaks the connection, unless the application did so before.
 */
static void refuse_read(struct engine *engine, struct qp *qp,
			struct responder_resource *responder_resource, struct packet_builder *out)
{
	struct rnic_psn psn = rnic_psn_add(responder_resource->psn,
					   (int32_t)responder_resource->answer.next_packet);
	const bool in_own_error = qp->state == RNIC_QP_STATE_ERR && !qp->responder.has_failed;

	engine->counters[COUNTER_ACCESS_ERRORS]++;
	if (!responder_resource->is_repeat && !in_own_error) {
		responder_fail(engine, qp, VERDICT_BAD_RKEY, psn, false);
		transmit_acknowledge(engine, qp, out);
		return;
	}
	if (in_own_error)
		qp->responder.has_acknowledge = false; /* it would stand for the READ, too */
	responder_resource->is_pending = false;
	packet_builder_start(qp, out, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, 0, psn);
	out->packet.aeth = (struct rnic_aeth){
		.syndrome = verdict_row(VERDICT_BAD_RKEY)->syndrome,
		.msn = responder_resource->msn,
	};
	engine->counters[COUNTER_SENT_NAKS]++;
}

static void responder_transmit_resource(struct engine *engine, struct qp *qp,
					struct responder_resource *responder_resource,
					struct packet_builder *out)
{
	if (responder_answer_is_atomic(responder_resource)) {
		transmit_atomic(engine, qp, responder_resource, out);
	} else if (!transmit_read(engine, qp, responder_resource, out)) {
		refuse_read(engine, qp, responder_resource, out);
		return;
	}
	responder_resource->answer.next_packet++;
	responder_resource->is_pending =
		responder_resource->answer.next_packet < responder_resource->answer.end_packet;
}

/*
 * Answers leave in the order of their PSNs, also when a duplicate of an earlier request comes while
 * a READ is being answered: its acknowledgement waits for the end of the READ's answer. Linux rxe
 * takes an ACK in the midst of that answer for the answer's end (findings/rxe-late-ack-in-read.sh).
 */
static bool answers_before_acknowledge(const struct responder *responder,
				       const struct responder_resource *responder_resource)
{
	const struct responder_resources_answer *answer = &responder_resource->answer;

	return !responder->has_acknowledge || answer->next_packet > answer->first_packet ||
	       rnic_psn_distance(responder->acknowledge_psn, responder_resource->psn) >= 0;
}

bool responder_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	struct responder *responder = &qp->responder;
	struct responder_resource *responder_resource;

	/* Nothing is acknowledged before its placement, nor read before earlier writes are placed.
	 */
	placement_run(engine);
	if (qp->state == RNIC_QP_STATE_ERR && !responder->has_failed && !responder->has_acknowledge)
		return false;
	if (responder->report.is_owed) {
		holes_build_report(qp, out);
		return true;
	}
	if (responder->exact_credits.is_owed) {
		exact_credits_build_answer(qp, out);
		return true;
	}
	responder_resource = responder_resources_next_pending(&responder->resources);
	if (responder_resource != NULL &&
	    answers_before_acknowledge(responder, responder_resource)) {
		if (responder_resource->operation == RNIC_OPERATION_READ_REQUEST &&
		    !congestion_try_send(engine, qp))
			return false;
		responder_transmit_resource(engine, qp, responder_resource, out);
		congestion_sent(engine, qp, out->packet.payload_bytes);
		return true;
	}
	if (!responder->has_acknowledge ||
	    (responder_resource == NULL && delayed_acknowledgement_try_wait(qp)))
		return false;
	transmit_acknowledge(engine, qp, out);
	return true;
}

/* The first answer that is to leave before the acknowledgement that is owed; NULL: none. */
static const struct responder_resource *first_owed(struct responder *responder)
{
	const struct responder_resource *first =
		responder_resources_next_pending(&responder->resources);

	return responder->has_acknowledge && first != NULL &&
			       answers_before_acknowledge(responder, first)
		       ? first
		       : NULL;
}

bool responder_owes_answers(struct qp *qp)
{
	return first_owed(&qp->responder) != NULL;
}

void responder_part(struct engine *engine, struct qp *qp)
{
	struct responder *responder = &qp->responder;
	const struct responder_resource *unanswered = first_owed(responder);
	struct packet_builder last;

	if (unanswered != NULL)
		acknowledgement_end_before(qp, unanswered->psn,
					   (unanswered->msn - 1) & RNIC_PSN_MASK);
	if (!responder->has_acknowledge)
		return;
	build_acknowledge(engine, qp, &last);
	parting_add(&engine->parting, &last.packet);
}
