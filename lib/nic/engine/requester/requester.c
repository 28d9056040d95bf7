/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/requester/requester.h"

#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/packet_builder.h"
#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/progress/send_position.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/reliability/congestion.h"
#include "lib/nic/engine/reliability/credits.h"
#include "lib/nic/engine/reliability/exact_credits.h"
#include "lib/nic/engine/reliability/holes.h"
#include "lib/nic/engine/reliability/pace_line.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/reliability/retry_timer.h"
#include "lib/nic/engine/reliability/round_trip.h"
#include "lib/nic/engine/requester/completer.h"
#include "lib/nic/engine/requester/gather.h"
#include "lib/nic/engine/requester/local_operation.h"
#include "lib/nic/engine/requester/repair.h"
#include "lib/nic/engine/requester/response_gap.h"

#include <assert.h>

/* --- starting a WQE -------------------------------------------------------------------------- */

static enum verdict requester_check_length(const struct send_wqe *wqe)
{
	const struct rnic_wr_operation *operation = wqe_operation(wqe);

	if (rnic_wr_is_length_right(operation, wqe->length))
		return VERDICT_PASS;
	return operation->payload == RNIC_WR_PAYLOAD_NONE ? VERDICT_LOCAL_OPERATION
							  : VERDICT_LOCAL_LENGTH;
}

/* Whether WQE `index` can be executed. */
static enum verdict check_wqe(struct engine *engine, struct qp *qp, uint32_t index)
{
	const struct send_wqe *wqe = send_queue_at(&qp->send_queue, index);
	const struct rnic_wr_operation *operation = wqe_operation(wqe);
	enum verdict verdict = VERDICT_PASS;

	if (!rnic_wr_is_of_type(operation, qp->type) || operation->is_local ||
	    (operation->has_response && qp->attributes.max_rd_atomic == 0))
		return VERDICT_LOCAL_OPERATION;
	if (!(wqe->flags & RNIC_SEND_INLINE))
		verdict = gather_check_sges(engine, qp, index);
	else if (operation->has_result)
		verdict = VERDICT_LOCAL_OPERATION;
	return verdict == VERDICT_PASS ? requester_check_length(wqe) : verdict;
}

/* Gives the WQE at the send position its PSNs. */
static enum verdict start_wqe(struct engine *engine, struct qp *qp)
{
	struct send_wqe *wqe = send_queue_at(&qp->send_queue, qp->requester.wqe_index);
	enum verdict verdict = check_wqe(engine, qp, qp->requester.wqe_index);

	if (verdict != VERDICT_PASS)
		return verdict;
	/* A datagram is one packet (IBTA 1.4, 9.8.3.2). */
	if (qp->type == RNIC_QP_TYPE_UD && wqe->length > qp->path_mtu_bytes)
		return VERDICT_LOCAL_LENGTH;
	wqe->psn = qp->requester.psn;
	wqe->packets = qp_packets_for(qp, wqe->length);
	wqe->read_packets = UINT32_MAX;
	if (send_position_is_read(wqe))
		wqe->read_packets = qp_packets_for(qp, peer_window_read_bytes(qp->peer_window));
	return VERDICT_PASS;
}

/* --- one packet ------------------------------------------------------------------------------ */

/* The packet at the send position, or one of a tail probe, before it is built. */
struct plan {
	struct send_wqe *wqe;
	uint32_t wqe_index;
	struct rnic_psn psn;
	uint32_t index;	     /* in the WQE */
	uint32_t packets;    /* PSNs that the packet takes: for a READ those of the response */
	uint32_t cost_bytes; /* of the path's window */
	bool ends_message;
	bool is_ack_wanted;
	bool is_probe; /* is sent outside the path's window */
	bool is_part;  /* of a READ, whose next part waits for the answer to this one */
};

static uint32_t plan_cost_bytes(const struct qp *qp, const struct plan *plan)
{
	return send_position_cost_bytes(qp, plan->wqe, plan->index, plan->index + plan->packets);
}

/* Packet `psn` of WQE `wqe_index`, which is started; a READ request of at most `packets_max`. */
static struct plan plan_packet(const struct qp *qp, uint32_t wqe_index, struct rnic_psn psn,
			       uint32_t packets_max)
{
	struct send_wqe *wqe = send_queue_at(&qp->send_queue, wqe_index);
	struct plan plan = {
		.wqe = wqe,
		.wqe_index = wqe_index,
		.psn = psn,
		.index = wqe_packet_index(wqe, psn),
		.packets = 1,
	};

	if (send_position_is_read(wqe))
		plan.packets = send_position_read_packets(wqe, plan.index);
	if (plan.packets > packets_max)
		plan.packets = packets_max;
	plan.ends_message = plan.index + plan.packets == wqe->packets;
	return plan;
}

static struct plan make_plan(const struct qp *qp)
{
	struct plan plan = plan_packet(qp, qp->requester.wqe_index, qp->requester.psn, UINT32_MAX);
	const struct send_wqe *wqe = plan.wqe;

	plan.is_probe = qp->retry.is_silent || qp->retry.may_probe;
	plan.cost_bytes = plan_cost_bytes(qp, &plan);
	plan.is_part = send_position_is_read(wqe) && plan.index % wqe->read_packets != 0;
	if (plan.is_probe && plan.packets > 1 && plan.cost_bytes > LIMIT_SILENT_PEER_BYTES) {
		plan.is_part = true;
		plan.packets = 1;
		plan.cost_bytes = plan_cost_bytes(qp, &plan);
		plan.ends_message = plan.index + plan.packets == wqe->packets;
	}
	return plan;
}

static uint32_t packets_under_way(const struct qp *qp)
{
	return (uint32_t)rnic_psn_distance(qp->requester.psn, qp->requester.unacknowledged);
}

/*
 * Whether the packet waits for an answer to the packets under way: little goes to a silent peer,
 * but something always, and the parts of a READ that could be one request go one by one.
 */
static bool must_wait_for_answer(const struct qp *qp, const struct plan *plan)
{
	if (packets_under_way(qp) == 0)
		return false;
	return plan->is_part || (qp->retry.is_silent && plan->cost_bytes > qp->retry.probe_bytes);
}

/*
 * Whether the QP's own limits let the packet go: unacknowledged packets, outstanding READs. One
 * READ always may go, since the limit may have gone back to 0 after the start of the READ.
 */
static bool is_within_limits(const struct qp *qp, const struct plan *plan)
{
	uint32_t reads = qp->requester.reads_outstanding;

	if (packets_under_way(qp) + plan->packets > LIMIT_QP_WINDOW_PACKETS ||
	    must_wait_for_answer(qp, plan))
		return false;
	return !wqe_operation(plan->wqe)->has_response || reads == 0 ||
	       reads < qp->attributes.max_rd_atomic;
}

static bool is_long_write(const struct send_wqe *wqe)
{
	return wqe->opcode == RNIC_WR_RDMA_WRITE && wqe->packets > 1;
}

/*
 * Whether the end of a long WRITE may leave the acknowledgement request to the WRITE behind it,
 * which follows at once: so the peer acknowledges a run of WRITEs together. If that WRITE does not
 * follow after all, all are sent again (resume_unasked()), and this is decided anew.
 */
static bool is_asked_for_later(struct engine *engine, struct qp *qp, const struct plan *plan)
{
	const struct requester *requester = &qp->requester;
	const struct send_queue *queue = &qp->send_queue;
	uint32_t next = requester->wqe_index + 1;
	const struct send_wqe *wqe;

	if (!is_long_write(plan->wqe) || engine->config.has_ecn || next == queue->posted ||
	    (next == queue->next && qp->state != RNIC_QP_STATE_RTS) ||
	    (requester->has_failed_payload && next == requester->failed_index))
		return false;
	wqe = send_queue_at(queue, next);
	return wqe->opcode == RNIC_WR_RDMA_WRITE && !(wqe->flags & RNIC_SEND_FENCE) &&
	       check_wqe(engine, qp, next) == VERDICT_PASS;
}

/*
 * Whether the packets that ask for no acknowledgement fill a quarter of the peer window. Answers to
 * each quarter keep a small window moving, and a lost packet shows in the answer to later ones.
 */
static bool has_unasked_quarter(const struct qp *qp, const struct plan *plan)
{
	const uint64_t packets = qp->requester.packets_since_ack_request + 1;
	const uint64_t unasked_bytes = packets * plan->cost_bytes;

	return unasked_bytes >= LIMIT_PATH_WINDOW_BYTES_LEAST / 4 &&
	       unasked_bytes >= peer_window_bytes(qp->peer_window) / 4;
}

/* Room comes only by an acknowledgement that somebody has asked for; the pace goes on by itself. */
static bool must_wait_for_window(const struct qp *qp, const struct plan *plan)
{
	if (!peer_window_has_room(qp->peer_window, qp, plan->cost_bytes))
		return qp->requester.packets_since_ack_request == 0;
	return !peer_window_is_on_pace(qp->peer_window);
}

/*
 * Reserves the packet's share of the peer window, or gets in line for it. Decides whether the
 * packet asks for an acknowledgement: at the end of a message, now and then within a long one, when
 * nothing may follow until one comes, and always when it is a probe, which takes no share. A packet
 * that asks on behalf of others before it goes without room: there would never be any.
 */
static bool try_reserve(struct engine *engine, struct qp *qp, struct plan *plan)
{
	struct requester *requester = &qp->requester;

	if (plan->is_probe) {
		plan->is_ack_wanted = true;
		retry_timer_probe_sent(qp, plan->cost_bytes);
		return true;
	}
	if (must_wait_for_window(qp, plan)) {
		peer_window_wait(qp->peer_window, qp, plan->cost_bytes);
		if (packets_under_way(qp) == 0)
			retry_timer_wait_for_window(engine, qp);
		return false;
	}
	peer_window_reserve(qp->peer_window, qp, plan->cost_bytes);
	requester->in_flight_bytes += plan->cost_bytes;
	plan->is_ack_wanted =
		(plan->ends_message && !is_asked_for_later(engine, qp, plan)) ||
		wqe_operation(plan->wqe)->has_response ||
		credits_is_probe(qp, plan->wqe, plan->index) ||
		requester->packets_since_ack_request + 1 >= LIMIT_PACKETS_PER_ACK_REQUEST ||
		has_unasked_quarter(qp, plan) ||
		packets_under_way(qp) + 1 >= LIMIT_QP_WINDOW_PACKETS ||
		!peer_window_has_room(qp->peer_window, qp, plan->cost_bytes) ||
		peer_window_passes_turn(qp->peer_window);
	return true;
}

/* Takes the packet's share of the pace, or makes the QP wait for it. */
static bool try_pace(struct engine *engine, struct qp *qp, const struct plan *plan)
{
	uint32_t bytes = plan->cost_bytes + (plan->ends_message ? LIMIT_PACE_MESSAGE_BYTES : 0);

	return pace_line_try_send(engine, qp, bytes);
}

static enum rnic_position plan_position(const struct plan *plan)
{
	if (wqe_operation(plan->wqe)->has_response)
		return RNIC_POSITION_ONLY;
	if (plan->index == 0)
		return plan->ends_message ? RNIC_POSITION_ONLY : RNIC_POSITION_FIRST;
	return plan->ends_message ? RNIC_POSITION_LAST : RNIC_POSITION_MIDDLE;
}

/* What the packet's RETH says; the packet begins at `offset` of the message. */
static uint32_t reth_length(const struct qp *qp, const struct plan *plan, uint32_t offset)
{
	const struct send_wqe *wqe = plan->wqe;

	if (send_position_is_read(wqe))
		return send_position_packet_offset(qp, wqe, plan->index + plan->packets) - offset;
	return wqe_operation(wqe)->operands == RNIC_WR_OPERANDS_FLUSH ? wqe->flush.length
								      : wqe->length;
}

/* The answer to a READ request ends with the request, also where that is a part of one before. */
static void note_part_end(struct qp *qp, const struct plan *plan)
{
	const struct rnic_psn end = rnic_psn_add(plan->psn, (int32_t)plan->packets);

	if (plan->packets < send_position_read_packets(plan->wqe, plan->index) &&
	    rnic_psn_distance(end, qp->requester.part_end) > 0)
		qp->requester.part_end = end;
}

/* All of the planned packet but its payload and the wish for an acknowledgement. */
static void build_headers(struct qp *qp, const struct plan *plan, struct packet_builder *out)
{
	const struct send_wqe *wqe = plan->wqe;
	const struct rnic_wr_operation *operation = wqe_operation(wqe);
	uint32_t offset = send_position_packet_offset(qp, wqe, plan->index);
	struct rnic_packet *packet = &out->packet;

	packet_builder_start(qp, out, (enum rnic_operation)operation->request, plan_position(plan),
			     plan->ends_message ? rnic_immediate_header(operation->immediate) : 0,
			     plan->psn);
	if (qp->type == RNIC_QP_TYPE_UD)
		packet_builder_address_datagram(qp, plan->wqe_index, packet);
	packet->solicited =
		plan->ends_message && operation->may_solicit && (wqe->flags & RNIC_SEND_SOLICITED);
	if (packet->row->headers & RNIC_HEADER_RETH)
		packet->reth = (struct rnic_reth){
			.address = wqe->remote_address + offset,
			.rkey = wqe->rkey,
			.length = reth_length(qp, plan, offset),
		};
	if (send_position_is_read(wqe))
		note_part_end(qp, plan);
	if (packet->row->headers & RNIC_HEADER_FETH)
		packet->flush_type = wqe->flush.type;
	if (packet->row->headers & RNIC_HEADER_ATOMIC)
		packet->atomic = (struct rnic_atomic_header){
			.address = wqe->remote_address,
			.rkey = wqe->rkey,
			.swap_or_add = wqe->atomic.swap_or_add,
			.compare = wqe->atomic.compare,
		};
	if (packet->row->headers & RNIC_HEADER_XRCETH)
		packet->xrc_srqn = wqe->srqn;
	if (packet->row->headers & RNIC_HEADER_IMMEDIATE)
		packet->immediate = wqe->immediate;
	if (packet->row->headers & RNIC_HEADER_INVALIDATE)
		packet->invalidate_rkey = wqe->immediate;
}

/* Has engine_packets_read() look at the QP. */
static void await_reading(struct engine *engine, struct qp *qp)
{
	if (!list_is_linked(&qp->built_node))
		list_add_tail(&engine->built, &qp->built_node);
}

static void count_packet_sent_again(struct engine *engine, struct qp *qp)
{
	engine->counters[COUNTER_RETRANSMITTED_PACKETS]++;
	qp->counters.retransmitted_packets++;
}

/* The packet leaves for the first time, and asks for an acknowledgement. */
static void time_packet(struct engine *engine, struct qp *qp, struct rnic_psn psn)
{
	struct round_trip *round_trip = &qp->round_trip;

	if (!round_trip->is_timing && qp->peer_window != NULL)
		round_trip->departure = path_model_depart(&qp->peer_window->model, engine->now_ns);
	round_trip_sent(round_trip, psn, engine->now_ns);
	if (repair_is_awaited(qp))
		round_trip_wait_for_repair(round_trip);
}

/* The planned packet leaves: moves the send position behind it. */
static void commit(struct engine *engine, struct qp *qp, const struct plan *plan)
{
	struct requester *requester = &qp->requester;

	if (requester->wqe_index == qp->send_queue.next)
		qp->send_queue.next++;
	credits_sent(qp, plan->wqe, plan->index);
	if (plan->is_ack_wanted)
		retry_timer_ask(engine, qp);
	if (rnic_psn_distance(plan->psn, requester->highest) < 0)
		count_packet_sent_again(engine, qp);
	else if (plan->is_ack_wanted)
		time_packet(engine, qp, plan->psn);
	requester->psn = rnic_psn_add(requester->psn, (int32_t)plan->packets);
	if (rnic_psn_distance(requester->psn, requester->highest) > 0)
		requester->highest = requester->psn;
	if (plan->ends_message)
		requester->wqe_index++;
	if (!qp_is_reliable(qp)) {
		await_reading(engine, qp);
		return;
	}
	if (wqe_operation(plan->wqe)->has_response)
		requester->reads_outstanding++;
	requester->packets_since_ack_request =
		plan->is_ack_wanted ? 0 : requester->packets_since_ack_request + 1;
	requester->has_unasked_end =
		!plan->is_ack_wanted && (requester->has_unasked_end || plan->ends_message);
	retry_timer_packet_sent(engine, qp);
}

/* The WQE at the send position cannot be executed; the WQEs before it are completed first. */
static void fail_in_turn(struct engine *engine, struct qp *qp, enum verdict verdict)
{
	if (qp->requester.wqe_index == qp->send_queue.retired)
		qp_fail_send(engine, qp, verdict);
}

/* Whether there is a WQE to send from, started or new, and the QP's state allows sending. */
static bool has_work(const struct qp *qp)
{
	const struct requester *requester = &qp->requester;
	const struct send_wqe *wqe;

	if ((qp->state != RNIC_QP_STATE_RTS && qp->state != RNIC_QP_STATE_SQD) ||
	    qp->retry.running == RETRY_TIMER_RNR)
		return false;
	if (requester->wqe_index != qp->send_queue.next)
		return true;
	if (requester->wqe_index == qp->send_queue.posted || qp->state == RNIC_QP_STATE_SQD)
		return false;
	wqe = send_queue_at(&qp->send_queue, requester->wqe_index);
	if (wqe_operation(wqe)->is_local)
		return false;
	return !(wqe->flags & RNIC_SEND_FENCE) || requester->reads_outstanding == 0;
}

/* Readies the WQE at the send position, which may be new. */
static enum verdict enter_work(struct engine *engine, struct qp *qp)
{
	const struct requester *requester = &qp->requester;

	if (requester->has_failed_payload && requester->wqe_index == requester->failed_index)
		return (enum verdict)requester->failed_verdict;
	return requester->wqe_index == qp->send_queue.next ? start_wqe(engine, qp) : VERDICT_PASS;
}

static enum verdict gather_payload(struct engine *engine, struct qp *qp, const struct plan *plan,
				   struct packet_builder *out)
{
	uint32_t offset = send_position_packet_offset(qp, plan->wqe, plan->index);

	if (wqe_operation(plan->wqe)->has_result)
		return VERDICT_PASS;
	out->packet.payload_bytes =
		send_position_packet_offset(qp, plan->wqe, plan->index + 1) - offset;
	return gather_bytes(engine, qp, plan->wqe_index, offset, out->packet.payload_bytes,
			    out->pieces, &out->piece_count);
}

/* Builds the next packet up to its share of the path; false when there is none to send now. */
static bool try_build(struct engine *engine, struct qp *qp, struct packet_builder *out,
		      struct plan *plan)
{
	enum verdict verdict;

	if (!has_work(qp))
		return false;
	verdict = enter_work(engine, qp);
	if (verdict != VERDICT_PASS)
		goto failed;
	*plan = make_plan(qp);
	if (!is_within_limits(qp, plan) || !credits_try_start(engine, qp, plan->wqe, plan->index))
		return false;
	build_headers(qp, plan, out);
	verdict = gather_payload(engine, qp, plan, out);
	if (verdict != VERDICT_PASS)
		goto failed;
	return true;

failed:
	fail_in_turn(engine, qp, verdict);
	return false;
}

/*
 * A message that left the asking to the next one waits for an acknowledgement, and the next one
 * cannot go: its region went, or the QP to SQD. Goes back, to ask this time; true when it did.
 */
static bool resume_unasked(struct engine *engine, struct qp *qp)
{
	if (!qp->requester.has_unasked_end || qp->retry.running == RETRY_TIMER_RNR ||
	    (qp->state != RNIC_QP_STATE_RTS && qp->state != RNIC_QP_STATE_SQD))
		return false;
	send_position_rewind(engine, qp);
	return true;
}

/* --- tail probes ----------------------------------------------------------------------------- */

/* The WQE of the last packet that was sent; there is one under way. */
static uint32_t last_wqe_index(const struct qp *qp)
{
	const struct send_queue *queue = &qp->send_queue;
	uint32_t index = qp->requester.wqe_index;

	if (index != queue->next &&
	    wqe_packet_index(send_queue_at(queue, index), qp->requester.psn) > 0)
		return index;
	return index - 1;
}

/*
 * The last request under way, from its beginning on: to ask for the end of a READ alone makes Linux
 * rxe forget the READ's beginning. What is acknowledged is not asked for again.
 */
static struct plan plan_last_request(const struct qp *qp)
{
	const struct requester *requester = &qp->requester;
	const uint32_t wqe_index = last_wqe_index(qp);
	const struct send_wqe *wqe = send_queue_at(&qp->send_queue, wqe_index);
	struct rnic_psn psn = rnic_psn_add(requester->psn, -1);

	if (send_position_is_read(wqe))
		psn = rnic_psn_add(psn, -(int32_t)(wqe_packet_index(wqe, psn) % wqe->read_packets));
	if (rnic_psn_distance(psn, requester->unacknowledged) < 0)
		psn = requester->unacknowledged;
	return plan_packet(qp, wqe_index, psn, (uint32_t)rnic_psn_distance(requester->psn, psn));
}

/* The next packet of the tail probe: the rest of the oldest request, then the last request. */
static struct plan plan_tail_packet(const struct qp *qp)
{
	if (qp->retry.tail_packets == RETRY_TIMER_TAIL_PACKETS)
		return plan_packet(qp, qp->send_queue.retired, qp->requester.unacknowledged,
				   packets_under_way(qp));
	return plan_last_request(qp);
}

/*
 * Builds a packet of the tail probe that is due, and leaves the send position alone. Memory that is
 * there no more ends the probe: what follows is up to the ACK timeout.
 */
static bool requester_transmit_tail(struct engine *engine, struct qp *qp,
				    struct packet_builder *out)
{
	struct retry *retry = &qp->retry;
	struct plan plan = plan_tail_packet(qp);
	struct rnic_psn end = rnic_psn_add(plan.psn, (int32_t)plan.packets);

	if (!congestion_try_send(engine, qp))
		return false;
	build_headers(qp, &plan, out);
	if (gather_payload(engine, qp, &plan, out) != VERDICT_PASS) {
		retry->tail_packets = 0;
		return false;
	}
	if (retry->tail_packets == RETRY_TIMER_TAIL_PACKETS)
		engine->counters[COUNTER_TAIL_PROBES]++;
	out->packet.ack_request = true;
	count_packet_sent_again(engine, qp);
	congestion_sent(engine, qp, out->packet.payload_bytes);
	retry_timer_tail_sent(engine, qp, rnic_psn_equal(end, qp->requester.psn));
	return true;
}

/* --- repairs --------------------------------------------------------------------------------- */

/*
 * Builds a packet that is sent again, and leaves the send position alone. Memory that is there no
 * more is found on the way from the oldest packet.
 */
static bool build_again(struct engine *engine, struct qp *qp, const struct plan *plan,
			struct packet_builder *out)
{
	build_headers(qp, plan, out);
	if (gather_payload(engine, qp, plan, out) != VERDICT_PASS) {
		send_position_rewind(engine, qp);
		return false;
	}
	if (!congestion_try_send(engine, qp)) {
		send_position_cancel_window_wait(engine, qp);
		return false;
	}
	if (!peer_window_try_repair(qp->peer_window, qp, plan_cost_bytes(qp, plan)))
		return false;
	count_packet_sent_again(engine, qp);
	congestion_sent(engine, qp, out->packet.payload_bytes);
	return true;
}

/* The next packet of a repair; the last one asks for an acknowledgement. */
static bool requester_transmit_repair(struct engine *engine, struct qp *qp,
				      struct packet_builder *out)
{
	const struct rnic_psn psn = qp->requester.repair.next;
	const struct plan plan = plan_packet(qp, send_position_wqe_index_of(qp, psn), psn, 1);

	if (!build_again(engine, qp, &plan, out))
		return false;
	out->packet.ack_request = repair_sent(engine, qp);
	return true;
}

/* Asks again for responses that are missing; false when there is none, or the pace says to wait. */
static bool transmit_for_responses(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	struct rnic_psn start, end;
	struct plan plan;

	if (!response_gap_find_due(qp, &start, &end))
		return false;
	plan = plan_packet(qp, send_position_wqe_index_of(qp, start), start,
			   (uint32_t)rnic_psn_distance(end, start));
	if (!build_again(engine, qp, &plan, out))
		return false;
	out->packet.ack_request = true;
	response_gap_asked(qp);
	return true;
}

/* What a peer that is a device like this one may answer. */
static bool transmit_word(struct qp *qp, struct packet_builder *out)
{
	uint8_t *owes = &qp->requester.repair.owes;

	if (*owes & REPAIR_OWES_OFFER) {
		*owes &= (uint8_t)~REPAIR_OWES_OFFER;
		holes_build_offer(qp, out);
		return true;
	}
	if (*owes & REPAIR_OWES_QUESTION) {
		*owes &= (uint8_t)~REPAIR_OWES_QUESTION;
		exact_credits_build_question(qp, out);
		return true;
	}
	return false;
}

/* What leaves before all else: see repair_has_turn(). */
static bool transmit_for_repair(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	if (transmit_word(qp, out))
		return true;
	if (transmit_for_responses(engine, qp, out))
		return true;
	repair_skip_acknowledged(qp);
	return repair_is_due(qp) && requester_transmit_repair(engine, qp, out);
}

/* --- transmission ---------------------------------------------------------------------------- */

bool requester_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	struct plan plan = {0};
	bool is_built;

	if (repair_has_turn(qp)) {
		if (transmit_for_repair(engine, qp, out))
			return true;
		if (repair_has_turn(qp))
			return false;
	}
	if (qp->retry.tail_packets > 0 && requester_transmit_tail(engine, qp, out))
		return true;
	if (repair_holds(qp)) {
		send_position_cancel_window_wait(engine, qp);
		return false;
	}
	is_built = try_build(engine, qp, out, &plan);
	if (!is_built && resume_unasked(engine, qp))
		is_built = try_build(engine, qp, out, &plan);
	if (!is_built && local_operation_is_due(qp))
		await_reading(engine, qp);
	if (!is_built || !congestion_try_send(engine, qp)) {
		send_position_cancel_window_wait(engine, qp);
		return false;
	}
	if (qp_is_reliable(qp) ? !try_reserve(engine, qp, &plan) : !try_pace(engine, qp, &plan))
		return false;
	congestion_sent(engine, qp, out->packet.payload_bytes);
	out->packet.ack_request = plan.is_ack_wanted;
	commit(engine, qp, &plan);
	return true;
}

/* --- failures -------------------------------------------------------------------------------- */

void requester_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn, int error)
{
	struct requester *requester = &qp->requester;
	uint32_t index;

	if (rnic_psn_distance(psn, requester->unacknowledged) < 0 ||
	    rnic_psn_distance(psn, requester->highest) >= 0)
		return;
	index = send_position_wqe_index_of(qp, psn);
	if (index == qp->send_queue.next)
		return;
	if (!qp_is_reliable(qp)) {
		if (index == qp->send_queue.retired ||
		    completer_packets_read_before(engine, qp,
						  send_queue_at(&qp->send_queue, index)->psn))
			qp_fail_send(engine, qp, verdict_of_local_memory(error));
		return;
	}
	requester->has_failed_payload = true;
	requester->failed_index = index;
	requester->failed_verdict = (uint8_t)verdict_of_local_memory(error);
	send_position_rewind(engine, qp);
}

void requester_write_failed(struct engine *engine, struct qp *qp,
			    const struct placement_failures *failures)
{
	const enum verdict verdict = verdict_of_local_memory(failures->response_error);
	const struct send_queue *queue = &qp->send_queue;

	if (failures->is_response_reported)
		qp_enter_error(qp, verdict);
	else if (queue->retired != queue->next &&
		 wqe_operation(send_queue_at(queue, queue->retired))->has_response)
		qp_fail_send(engine, qp, verdict);
}
