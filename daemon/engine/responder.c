/* SPDX-License-Identifier: MIT */
#include "engine/responder.h"

#include "engine/mr.h"
#include "engine/qp.h"
#include "engine/request_checks.h"
#include "wire/syndrome.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define ACK_SYNDROME rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED)

static void check_invariants(const struct qp *qp)
{
	const struct responder *responder = &qp->responder;

	/* A SEND holds a receive entry from its first packet to its last; UC keeps it longer. */
	if (qp_is_reliable(qp))
		assert(responder->has_receive ==
		       (responder->open_operation == RNIC_OPERATION_SEND));
	else
		assert(responder->has_receive ||
		       responder->open_operation != RNIC_OPERATION_SEND);
	assert(responder->open_operation != RNIC_OPERATION_WRITE ||
	       responder->message_bytes < responder->write_length);
	replay_check_invariants(&responder->replays);
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
	replay_fini(&responder->replays);
	free(responder->receive_sges);
	*responder = (struct responder){0};
}

int responder_start(struct qp *qp)
{
	struct responder *responder = &qp->responder;
	struct replay_ring replays;
	int ret = replay_init(&replays, qp->attributes.max_dest_rd_atomic);

	if (ret < 0)
		return ret;
	replay_fini(&responder->replays);
	*responder = (struct responder){
		.expected_psn = rnic_psn(qp->attributes.rq_psn),
		.gap_end = rnic_psn(qp->attributes.rq_psn),
		.receive_sges = responder->receive_sges,
		.replays = replays,
	};
	return 0;
}

void responder_reset(struct engine *engine, struct qp *qp)
{
	struct responder *responder = &qp->responder;

	(void)engine;
	replay_clear(&responder->replays);
	recv_queue_clear(&qp->recv_queue);
	*responder = (struct responder){
		.receive_sges = responder->receive_sges,
		.replays = responder->replays,
	};
}

/* --- receive entries ------------------------------------------------------------------------- */

const struct recv_work *responder_peek_receive(struct engine *engine, struct qp *qp,
					       const struct rnic_sge **sges)
{
	if (!qp->responder.has_receive)
		return recv_queue_peek(engine, &qp->recv_queue, sges);
	*sges = qp->responder.receive_sges;
	return &qp->responder.receive;
}

bool responder_try_take_receive(struct engine *engine, struct qp *qp)
{
	struct responder *responder = &qp->responder;

	if (!responder->has_receive)
		responder->has_receive = recv_queue_take(
			engine, &qp->recv_queue, &responder->receive, responder->receive_sges);
	return responder->has_receive;
}

void responder_complete_receive(struct engine *engine, struct qp *qp,
				struct completion *completion)
{
	struct responder *responder = &qp->responder;

	assert(responder->has_receive);
	responder->has_receive = false;
	completion->wr_id = responder->receive.wr_id;
	completion->qp = qp;
	if (qp->type != RNIC_QP_TYPE_UD)
		completion->source_qpn = qp->attributes.dest_qpn;
	completion->retired = ++qp->recv_queue.retired;
	completion->is_recv = true;
	settle_completion(engine, qp->recv_cq, completion);
}

static void complete_receive_in_error(struct engine *engine, struct qp *qp, enum verdict verdict)
{
	struct completion completion = {
		.vendor_error = verdict,
		.status = verdict_row(verdict)->receive_status,
		.opcode = RNIC_WC_RECV,
		.is_solicited = true, /* errors wake whoever waits for solicited ones */
	};

	responder_complete_receive(engine, qp, &completion);
}

/* The message of `packet`, its last, is in place. */
static void complete_message(struct engine *engine, struct qp *qp, const struct rnic_packet *packet)
{
	bool is_send = packet->row->operation == RNIC_OPERATION_SEND;
	bool has_immediate = (packet->row->headers & RNIC_HEADER_IMMEDIATE) != 0;
	struct completion completion = {
		.byte_count = qp->responder.message_bytes,
		.immediate = packet->immediate,
		.status = RNIC_WC_SUCCESS,
		.opcode = (uint8_t)(is_send ? RNIC_WC_RECV : RNIC_WC_RECV_RDMA_WITH_IMM),
		.wc_flags = has_immediate ? RNIC_WC_WITH_IMM : 0,
		.is_solicited = packet->solicited,
	};

	responder_complete_receive(engine, qp, &completion);
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

/* A NAK stands for an acknowledgement of all before it, so one that is owed already is enough. */
static void owe_acknowledge(struct qp *qp, struct rnic_psn psn)
{
	if (!owes_nak(&qp->responder))
		owe(qp, ACK_SYNDROME, psn);
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

/*
 * Ends the connection over the packet `psn`: the answers to what came before it still leave, then
 * the NAK, then nothing (IBTA 1.4, 9.9.3). The receive entry under way fails with it or, unless
 * `is_receive_at_fault`, is flushed.
 */
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
	replay_cancel_from(&responder->replays, psn);
	owe(qp, row->syndrome, psn);
	if (responder->has_fatal_nak)
		return;
	responder->has_fatal_nak = true;
	stop(engine, qp, verdict, is_receive_at_fault);
}

static void fail(struct engine *engine, struct qp *qp, enum verdict verdict, struct rnic_psn psn,
		 bool is_receive_at_fault)
{
	if (qp_is_reliable(qp))
		fail_reliable(engine, qp, verdict, psn, is_receive_at_fault);
	else if (qp->state != RNIC_QP_STATE_ERR)
		stop(engine, qp, verdict, is_receive_at_fault);
}

/* UC and UD: forgets the message under way. Its receive entry is kept for the next. */
static void drop_message(struct engine *engine, struct qp *qp)
{
	engine->counters[COUNTER_DROPPED_MESSAGES]++;
	qp->responder.open_operation = RNIC_OPERATION_NONE;
}

void responder_refuse(struct request *request, enum verdict verdict)
{
	const struct verdict_row *row = verdict_row(verdict);
	struct engine *engine = request->engine;
	struct qp *qp = request->qp;
	bool is_reliable = qp_is_reliable(qp);

	engine->counters[is_reliable ? row->counter : row->unreliable_counter]++;
	if (!is_reliable && !row->is_fatal_unreliable) {
		drop_message(engine, qp);
		return;
	}
	if (row->takes_receive)
		responder_try_take_receive(engine, qp);
	fail(engine, qp, verdict, request->packet->psn, true);
}

/* --- execution ------------------------------------------------------------------------------- */

static enum verdict write_payload(struct request *request, struct client_region *region,
				  uint64_t offset, const uint8_t *bytes, uint32_t length)
{
	const struct memory_transfer transfer = {
		.region = region,
		.offset = offset,
		.bytes = (uint8_t *)(uintptr_t)bytes, /* only read: engine->writes writes regions */
		.length = length,
	};
	enum settle_origin origin =
		request->packet->row->operation == RNIC_OPERATION_SEND ? SETTLE_SEND : SETTLE_WRITE;
	int ret =
		settle_write(request->engine, request->qp, &transfer, origin, request->packet->psn);

	return ret < 0 ? VERDICT_MEMORY_GONE : VERDICT_PASS;
}

enum verdict responder_scatter(struct request *request, uint32_t skip, const uint8_t *bytes,
			       uint32_t left)
{
	const struct responder *responder = &request->qp->responder;

	for (uint32_t i = 0; left > 0; i++) {
		const struct rnic_sge *sge = &responder->receive_sges[i];
		enum verdict verdict;
		uint32_t length;
		uint64_t offset;
		struct mr *mr;

		assert(i < responder->receive.sge_count);
		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		length = sge->length - skip < left ? sge->length - skip : left;
		mr = mr_find(request->engine, sge->lkey, request->qp->pd, RNIC_ACCESS_LOCAL_WRITE,
			     sge->address + skip, length, &offset);
		if (mr == NULL)
			return VERDICT_RECEIVE_PROTECTION;
		verdict = write_payload(request, mr->region, offset, bytes, length);
		if (verdict != VERDICT_PASS)
			return verdict;
		/* Making room in the batch may have shown that an earlier packet failed. */
		if (request->qp->state == RNIC_QP_STATE_ERR)
			return VERDICT_PASS;
		bytes += length;
		left -= length;
		skip = 0;
	}
	return VERDICT_PASS;
}

/* Closes the message of `packet`. */
static void finish_message(struct request *request)
{
	struct engine *engine = request->engine;
	struct qp *qp = request->qp;
	bool has_completion = request->packet->row->operation == RNIC_OPERATION_SEND ||
			      request_needs_receive(request->packet);
	bool is_taken;

	qp->responder.msn = (qp->responder.msn + 1) & RNIC_PSN_MASK;
	qp->responder.open_operation = RNIC_OPERATION_NONE;
	if (!has_completion)
		return;
	is_taken = responder_try_take_receive(engine, qp);
	assert(is_taken);
	complete_message(engine, qp, request->packet);
}

static enum verdict execute_send(struct request *request)
{
	struct responder *responder = &request->qp->responder;
	const struct rnic_packet *packet = request->packet;
	enum verdict verdict;

	if (request_is_first(packet)) {
		bool is_taken = responder_try_take_receive(request->engine, request->qp);

		assert(is_taken);
		responder->open_operation = RNIC_OPERATION_SEND;
		responder->message_bytes = 0;
	}
	verdict = responder_scatter(request, responder->message_bytes, packet->payload,
				    packet->payload_bytes);
	if (verdict != VERDICT_PASS || request->qp->state == RNIC_QP_STATE_ERR)
		return verdict;
	responder->message_bytes += packet->payload_bytes;
	if (request_is_last(packet)) {
		request->engine->counters[COUNTER_SEND_REQUESTS]++;
		finish_message(request);
	}
	return VERDICT_PASS;
}

static enum verdict execute_write(struct request *request)
{
	struct responder *responder = &request->qp->responder;
	const struct rnic_packet *packet = request->packet;

	if (request_is_first(packet)) {
		responder->open_operation = RNIC_OPERATION_WRITE;
		responder->message_bytes = 0;
		responder->write_length = packet->reth.length;
		responder->write_rkey = packet->reth.rkey;
		responder->write_address = packet->reth.address;
	}
	if (packet->payload_bytes > 0) {
		enum verdict verdict =
			write_payload(request, request->mr->region, request->region_offset,
				      packet->payload, packet->payload_bytes);

		if (verdict != VERDICT_PASS || request->qp->state == RNIC_QP_STATE_ERR)
			return verdict;
	}
	responder->message_bytes += packet->payload_bytes;
	responder->write_address += packet->payload_bytes;
	if (request_is_last(packet)) {
		assert(responder->message_bytes == responder->write_length);
		request->engine->counters[COUNTER_WRITE_REQUESTS]++;
		finish_message(request);
	}
	return VERDICT_PASS;
}

/* Packets that `length` bytes of a READ response take: one when there are none. */
static uint32_t response_packets(const struct qp *qp, uint32_t length)
{
	return length == 0 ? 1 : (length - 1) / qp->path_mtu_bytes + 1;
}

/* Remembers a READ or atomic whose answer is owed from now on. */
static struct replay *remember(struct request *request, uint32_t packets)
{
	struct responder *responder = &request->qp->responder;
	struct replay *replay = replay_add(&responder->replays);

	responder->msn = (responder->msn + 1) & RNIC_PSN_MASK;
	replay->psn = request->packet->psn;
	replay->packets = packets;
	replay->msn = responder->msn;
	replay->is_pending = true;
	replay->answer.end_packet = packets;
	qp_make_ready(request->qp);
	return replay;
}

static enum verdict execute_read(struct request *request)
{
	const struct rnic_reth *reth = &request->packet->reth;
	uint32_t packets = response_packets(request->qp, reth->length);
	struct replay *replay = remember(request, packets);

	replay->rkey = reth->rkey;
	replay->address = reth->address;
	replay->length = reth->length;
	replay->answer.end_bytes = reth->length;
	request->qp->responder.expected_psn = rnic_psn_add(request->packet->psn, (int32_t)packets);
	request->engine->counters[COUNTER_READ_REQUESTS]++;
	return VERDICT_PASS;
}

/* Executed here and now, after all that came before; only the answer waits its turn. */
static enum verdict execute_atomic(struct request *request)
{
	const struct rnic_atomic_header *atomic = &request->packet->atomic;
	struct client_region *region = request->mr->region;
	struct replay *replay;
	uint64_t original;
	int ret;

	settle_run(request->engine);
	if (request->qp->state == RNIC_QP_STATE_ERR)
		return VERDICT_PASS;
	if (request->packet->row->operation == RNIC_OPERATION_COMPARE_SWAP)
		ret = region->ops->compare_swap(region, request->region_offset, atomic->compare,
						atomic->swap_or_add, &original);
	else
		ret = region->ops->fetch_add(region, request->region_offset, atomic->swap_or_add,
					     &original);
	if (ret < 0)
		return VERDICT_MEMORY_GONE;
	request->engine->counters[COUNTER_ATOMIC_REQUESTS]++;
	replay = remember(request, 1);
	replay->is_atomic = true;
	replay->original = original;
	return VERDICT_PASS;
}

/* --- requests -------------------------------------------------------------------------------- */

static enum verdict execute(struct request *request)
{
	switch (request->packet->row->operation) {
	case RNIC_OPERATION_SEND:
		return execute_send(request);
	case RNIC_OPERATION_WRITE:
		return execute_write(request);
	case RNIC_OPERATION_READ_REQUEST:
		return execute_read(request);
	default:
		return execute_atomic(request);
	}
}

/* Of READs and atomics the answer is the acknowledgement. */
static bool is_acknowledged(const struct rnic_packet *packet)
{
	return packet->row->operation == RNIC_OPERATION_SEND ||
	       packet->row->operation == RNIC_OPERATION_WRITE;
}

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
	verdict = execute(request);
	if (verdict != VERDICT_PASS)
		responder_refuse(request, verdict);
	if (qp->state == RNIC_QP_STATE_ERR)
		return;
	if (rnic_psn_distance(responder->gap_end, responder->expected_psn) <= 0)
		responder->gap_end = responder->expected_psn;
	else if (has_stale_nak)
		ask_for_missing(qp);
	if (is_acknowledged(packet) && (packet->ack_request || has_stale_nak))
		owe_acknowledge(qp, packet->psn);
}

/*
 * A READ that was executed before is executed again from the PSN on that is asked for, which may
 * lie within the first one (IBTA 1.4, 9.7.5.1 and C9-110). What asks for anything else is dropped.
 */
static void repeat_read(struct qp *qp, const struct rnic_packet *packet, struct replay *replay)
{
	uint32_t first_packet = (packet->psn.value - replay->psn.value) & RNIC_PSN_MASK;
	uint64_t skip_bytes = (uint64_t)first_packet * qp->path_mtu_bytes;
	uint64_t end_bytes = skip_bytes + packet->reth.length;
	bool is_first_answer = replay->is_pending && !replay->is_repeat;

	if (packet->reth.rkey != replay->rkey || end_bytes > replay->length ||
	    packet->reth.address != replay->address + skip_bytes)
		return;
	if (is_first_answer && replay->answer.next_packet <= first_packet)
		return;
	replay->is_repeat = !is_first_answer;
	replay->is_pending = true;
	replay->answer = (struct replay_answer){
		.first_packet = first_packet,
		.next_packet = first_packet,
		.end_packet = first_packet + response_packets(qp, packet->reth.length),
		.end_bytes = (uint32_t)end_bytes,
	};
	qp_make_ready(qp);
}

/* The operation is not executed again: what it found the first time is told again. */
static void repeat_atomic(struct qp *qp, struct replay *replay)
{
	if (replay->is_pending)
		return;
	replay->is_repeat = true;
	replay->is_pending = true;
	replay->answer.next_packet = 0;
	qp_make_ready(qp);
}

static void receive_duplicate(struct qp *qp, const struct rnic_packet *packet)
{
	struct responder *responder = &qp->responder;
	bool is_read = packet->row->operation == RNIC_OPERATION_READ_REQUEST;
	struct replay *replay;

	qp->counters.duplicates_received++;
	if (is_acknowledged(packet)) {
		owe_acknowledge(qp, rnic_psn_add(responder->expected_psn, -1));
		return;
	}
	replay = replay_find(&responder->replays, packet->psn);
	if (replay == NULL || replay->is_atomic == is_read)
		return;
	if (is_read)
		repeat_read(qp, packet, replay);
	else
		repeat_atomic(qp, replay);
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
static bool fall_in_step(struct engine *engine, struct qp *qp, const struct rnic_packet *packet)
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

	if (!fall_in_step(request->engine, request->qp, request->packet))
		return;
	verdict = request_check(request);
	if (verdict == VERDICT_PASS)
		verdict = execute(request);
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
		receive_duplicate(request->qp, request->packet);
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
	struct request request = {.engine = engine, .qp = qp, .packet = packet};

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
	fail(engine, qp, VERDICT_MEMORY_GONE, psn, is_receive_at_fault);
}

void responder_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn, int error)
{
	(void)error; /* unmapped or gone: the peer is told the same */
	fail(engine, qp, VERDICT_MEMORY_GONE, psn, false);
}

void responder_flush(struct engine *engine, struct qp *qp)
{
	struct responder *responder = &qp->responder;

	responder->open_operation = RNIC_OPERATION_NONE;
	responder->has_nak_pending = false;
	if (!responder->has_fatal_nak) {
		responder->has_acknowledge = false;
		replay_clear(&responder->replays);
	}
	if (responder->has_receive)
		complete_receive_in_error(engine, qp, VERDICT_FLUSHED);
	/* Bounded: a client that posts as fast as we flush is served by qp_flush_receives(). */
	for (uint32_t i = 0; i < LIMIT_WR_DEPTH && responder_try_take_receive(engine, qp); i++)
		complete_receive_in_error(engine, qp, VERDICT_FLUSHED);
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

static void transmit_acknowledge(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	struct responder *responder = &qp->responder;

	engine_start_packet(qp, out, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, 0,
			    responder->acknowledge_psn);
	out->packet.aeth = (struct rnic_aeth){responder->syndrome, responder->acknowledge_msn};
	responder->has_acknowledge = false;
	engine->counters[acknowledge_counter(responder->syndrome)]++;
}

static void transmit_atomic(struct qp *qp, struct replay *replay, struct packet_builder *out)
{
	engine_start_packet(qp, out, RNIC_OPERATION_ATOMIC_ACKNOWLEDGE, RNIC_POSITION_ONLY, 0,
			    replay->psn);
	out->packet.aeth = (struct rnic_aeth){ACK_SYNDROME, replay->msn};
	out->packet.atomic_original = replay->original;
}

static enum rnic_position answer_position(const struct replay_answer *answer)
{
	bool is_first = answer->next_packet == answer->first_packet;

	if (answer->next_packet + 1 == answer->end_packet)
		return is_first ? RNIC_POSITION_ONLY : RNIC_POSITION_LAST;
	return is_first ? RNIC_POSITION_FIRST : RNIC_POSITION_MIDDLE;
}

/* The next packet of a READ's answer. False when the region is there no more. */
static bool transmit_read(struct engine *engine, struct qp *qp, const struct replay *replay,
			  struct packet_builder *out)
{
	const struct replay_answer *answer = &replay->answer;
	uint32_t skip_bytes = answer->next_packet * qp->path_mtu_bytes;
	uint32_t left_bytes = answer->end_bytes - skip_bytes;
	uint32_t bytes = left_bytes < qp->path_mtu_bytes ? left_bytes : qp->path_mtu_bytes;
	uint64_t offset = 0;
	struct mr *mr = NULL;

	if (bytes > 0) {
		mr = mr_find(engine, replay->rkey, qp->pd, RNIC_ACCESS_REMOTE_READ,
			     replay->address + skip_bytes, bytes, &offset);
		if (mr == NULL)
			return false;
	}
	engine_start_packet(qp, out, RNIC_OPERATION_READ_RESPONSE, answer_position(answer), 0,
			    rnic_psn_add(replay->psn, (int32_t)answer->next_packet));
	if (out->packet.row->headers & RNIC_HEADER_AETH)
		out->packet.aeth = (struct rnic_aeth){ACK_SYNDROME, replay->msn};
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

static void transmit_replay(struct engine *engine, struct qp *qp, struct replay *replay,
			    struct packet_builder *out)
{
	if (replay->is_atomic) {
		transmit_atomic(qp, replay, out);
	} else if (!transmit_read(engine, qp, replay, out)) {
		engine->counters[COUNTER_ACCESS_ERRORS]++;
		fail(engine, qp, VERDICT_BAD_RKEY,
		     rnic_psn_add(replay->psn, (int32_t)replay->answer.next_packet), false);
		transmit_acknowledge(engine, qp, out);
		return;
	}
	replay->answer.next_packet++;
	replay->is_pending = replay->answer.next_packet < replay->answer.end_packet;
}

bool responder_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	struct responder *responder = &qp->responder;
	struct replay *replay;

	/* Nothing is acknowledged before it is in place, nor read before what was written. */
	settle_run(engine);
	if (qp->state == RNIC_QP_STATE_ERR && !responder->has_fatal_nak)
		return false;
	replay = replay_next_pending(&responder->replays);
	if (replay != NULL && (!responder->has_acknowledge ||
			       rnic_psn_distance(responder->acknowledge_psn, replay->psn) >= 0)) {
		transmit_replay(engine, qp, replay, out);
		return true;
	}
	if (!responder->has_acknowledge)
		return false;
	transmit_acknowledge(engine, qp, out);
	return true;
}
