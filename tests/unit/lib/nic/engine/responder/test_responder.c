/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/engine/responder_bench.h"
#include "tests/unit/unit_test.h"

#define MTU	  BENCH_MTU
#define PSN	  100
#define ACK	  0x1f
#define NAK_GAP	  0x60
#define NAK_BAD	  0x61
#define NAK_KEY	  0x62
#define NAK_OP	  0x63
#define RNR	  (0x20 | BENCH_RNR_TIMER)
#define FIRST	  RNIC_POSITION_FIRST
#define MIDDLE	  RNIC_POSITION_MIDDLE
#define LAST	  RNIC_POSITION_LAST
#define ONLY	  RNIC_POSITION_ONLY
#define SEND	  RNIC_OPERATION_SEND
#define WRITE	  RNIC_OPERATION_WRITE
#define FETCH_ADD RNIC_OPERATION_FETCH_ADD
#define SWAP	  RNIC_OPERATION_COMPARE_SWAP
#define IMMEDIATE RNIC_HEADER_IMMEDIATE

static struct responder_bench bench;

static int set_up(void **state)
{
	(void)state;
	bench_start(&bench, PSN, true);
	return 0;
}

static int start_deferred(void **state)
{
	(void)state;
	bench_start(&bench, PSN, false);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	bench_stop(&bench);
	return 0;
}

/* A packet that does not ask for an acknowledgement. */
static struct rnic_packet quiet(struct rnic_packet packet)
{
	packet.ack_request = false;
	return packet;
}

/* --- SEND and WRITE -------------------------------------------------------------------------- */

static void a_send_is_scattered_and_completed(void **state)
{
	struct rnic_packet last = bench_packet(&bench, SEND, LAST, IMMEDIATE, PSN + 2, 100);

	(void)state;
	bench_post(&bench, 7, 0, 1500);
	bench.receives[0].sge_count = 2;
	bench.receives[0].length = 4000;
	bench.receive_sges[0][1] = (struct rnic_sge){BENCH_IOVA + 8000, 2500, bench.mr.key};
	last.immediate = 0xcafe;
	last.solicited = true;
	bench_receive(&bench, quiet(bench_packet(&bench, SEND, FIRST, 0, PSN, MTU)));
	bench_receive(&bench, quiet(bench_packet(&bench, SEND, MIDDLE, 0, PSN + 1, MTU)));
	expect_silence(&bench);
	expect_no_completion(&bench);
	bench_receive(&bench, last);
	bench_flush(&bench);
	assert_memory_equal(bench.memory, bench.payload, MTU);
	assert_memory_equal(bench.memory + MTU, bench.payload, 1500 - MTU);
	assert_memory_equal(bench.memory + 8000, bench.payload + 1500 - MTU, 2 * MTU - 1500);
	assert_memory_equal(bench.memory + 8000 + 2 * MTU - 1500, bench.payload, 100);
	assert_int_equal(bench.completions[0].byte_count, 2 * MTU + 100);
	assert_int_equal(bench.completions[0].opcode, RNIC_WC_RECV);
	assert_int_equal(bench.completions[0].wc_flags, RNIC_WC_WITH_IMM);
	assert_int_equal(bench.completions[0].immediate, 0xcafe);
	assert_int_equal(bench.completions[0].source_qpn, BENCH_PEER_QPN);
	assert_int_equal(bench.completions[0].retired, 1);
	assert_true(bench.completions[0].is_solicited);
	expect_completion(&bench, 7, RNIC_WC_SUCCESS);
	expect_acknowledge(&bench, ACK, PSN + 2, 1);
	expect_silence(&bench);
}

static void one_acknowledgement_stands_for_a_burst(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		bench_post(&bench, i, 100 * i, 100);
		bench_receive(&bench, bench_send(&bench, PSN + i, i));
	}
	expect_acknowledge(&bench, ACK, PSN + 4, 5);
	expect_silence(&bench);
	for (uint32_t i = 0; i < 5; i++)
		expect_completion(&bench, i, RNIC_WC_SUCCESS);
	expect_no_completion(&bench);
}

static void none_is_sent_unasked(void **state)
{
	(void)state;
	bench_post(&bench, 1, 0, 100);
	bench_receive(&bench, quiet(bench_send(&bench, PSN, 10)));
	expect_completion(&bench, 1, RNIC_WC_SUCCESS);
	expect_silence(&bench);
}

static void a_write_lands_without_a_completion(void **state)
{
	struct rnic_packet first = bench_packet(&bench, WRITE, FIRST, 0, PSN, MTU);

	(void)state;
	first.reth = (struct rnic_reth){BENCH_IOVA + 50, bench.mr.key, 2 * MTU + 3};
	bench_receive(&bench, quiet(first));
	bench_receive(&bench, quiet(bench_packet(&bench, WRITE, MIDDLE, 0, PSN + 1, MTU)));
	bench_receive(&bench, bench_packet(&bench, WRITE, LAST, 0, PSN + 2, 3));
	bench_receive(&bench, bench_write(&bench, PSN + 3, 0, 0));
	for (uint32_t i = 0; i < 2; i++)
		assert_memory_equal(bench.memory + 50 + i * MTU, bench.payload, MTU);
	assert_memory_equal(bench.memory + 50 + 2 * MTU, bench.payload, 3);
	assert_int_equal(bench.memory[50 + 2 * MTU + 3], 0);
	expect_no_completion(&bench);
	expect_acknowledge(&bench, ACK, PSN + 3, 2);
}

static void a_write_with_immediate_completes_a_receive(void **state)
{
	struct rnic_packet packet = bench_packet(&bench, WRITE, ONLY, IMMEDIATE, PSN, 20);

	(void)state;
	bench_post(&bench, 3, 0, 4);
	packet.reth = (struct rnic_reth){BENCH_IOVA + 500, bench.mr.key, 20};
	packet.immediate = 5;
	bench_receive(&bench, packet);
	bench_flush(&bench);
	assert_memory_equal(bench.memory + 500, bench.payload, 20);
	assert_int_equal(bench.memory[0], 0);
	assert_int_equal(bench.completions[0].opcode, RNIC_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(bench.completions[0].byte_count, 20);
	assert_int_equal(bench.completions[0].immediate, 5);
	expect_completion(&bench, 3, RNIC_WC_SUCCESS);
	expect_acknowledge(&bench, ACK, PSN, 1);
}

static void the_sequence_wraps(void **state)
{
	(void)state;
	bench_stop(&bench);
	bench_start(&bench, 0xfffffe, true);
	for (uint32_t i = 0; i < 4; i++)
		bench_receive(&bench, bench_write(&bench, 0xfffffe + i, i, 1));
	expect_acknowledge(&bench, ACK, 1, 4);
	bench_receive(&bench, bench_read(&bench, 2, 0, 2 * MTU));
	expect_response(&bench, FIRST, 2, 5, 0, MTU);
	expect_response(&bench, LAST, 3, 5, MTU, MTU);
}

/* --- sequence -------------------------------------------------------------------------------- */

static void a_duplicate_is_acknowledged_and_not_executed(void **state)
{
	(void)state;
	bench_post(&bench, 1, 0, 100);
	bench_post(&bench, 2, 100, 100);
	bench_receive(&bench, bench_send(&bench, PSN, 10));
	bench_receive(&bench, bench_send(&bench, PSN + 1, 10));
	expect_acknowledge(&bench, ACK, PSN + 1, 2);
	bench_receive(&bench, quiet(bench_send(&bench, PSN, 10)));
	expect_acknowledge(&bench, ACK, PSN + 1, 2);
	expect_silence(&bench);
	expect_completion(&bench, 1, RNIC_WC_SUCCESS);
	expect_completion(&bench, 2, RNIC_WC_SUCCESS);
	expect_no_completion(&bench);
	assert_int_equal(bench.engine.counters[COUNTER_DUPLICATE_REQUESTS], 1);
}

static void a_gap_is_told_once(void **state)
{
	(void)state;
	bench_receive(&bench, bench_write(&bench, PSN + 2, 0, 1));
	expect_acknowledge(&bench, NAK_GAP, PSN, 0);
	bench_receive(&bench, bench_write(&bench, PSN + 3, 0, 1));
	expect_silence(&bench);
	bench_receive(&bench, quiet(bench_write(&bench, PSN, 0, 1)));
	expect_silence(&bench);
	bench_receive(&bench, bench_write(&bench, PSN + 2, 0, 1));
	expect_acknowledge(&bench, NAK_GAP, PSN + 1, 1);
	assert_int_equal(bench.engine.counters[COUNTER_SENT_SEQUENCE_NAKS], 2);
	assert_int_equal(bench.memory[0], 1);
}

/* The NAK had not left yet, and the packets behind the gap were dropped. */
static void a_gap_that_closes_in_time_is_told_for_what_was_dropped(void **state)
{
	(void)state;
	bench_receive(&bench, bench_write(&bench, PSN + 1, 1, 1));
	bench_receive(&bench, bench_write(&bench, PSN, 0, 1));
	expect_acknowledge(&bench, NAK_GAP, PSN + 1, 1);
	expect_silence(&bench);
}

/* The NAK took the place of an acknowledgement: that is made up for. */
static void a_gap_whose_packets_all_came_again_is_not_told(void **state)
{
	(void)state;
	bench_receive(&bench, bench_write(&bench, PSN + 1, 1, 1));
	bench_receive(&bench, bench_write(&bench, PSN, 0, 1));
	bench_receive(&bench, quiet(bench_write(&bench, PSN + 1, 1, 1)));
	expect_acknowledge(&bench, ACK, PSN + 1, 2);
	expect_silence(&bench);
}

static void no_receive_wqe_means_later(void **state)
{
	(void)state;
	bench_receive(&bench, bench_send(&bench, PSN, 10));
	expect_acknowledge(&bench, RNR, PSN, 0);
	bench_receive(&bench, bench_write(&bench, PSN + 1, 0, 1));
	bench_receive(&bench, bench_send(&bench, PSN + 2, 10));
	expect_silence(&bench);
	bench_receive(&bench, bench_send(&bench, PSN, 10));
	expect_acknowledge(&bench, RNR, PSN, 0);
	bench_post(&bench, 1, 0, 100);
	bench_receive(&bench, bench_send(&bench, PSN, 10));
	expect_completion(&bench, 1, RNIC_WC_SUCCESS);
	expect_acknowledge(&bench, ACK, PSN, 1);
	assert_int_equal(bench.engine.counters[COUNTER_SENT_RNR_NAKS], 2);
	assert_int_equal(bench.memory[0], 1);
}

static void an_immediate_without_entry_waits_for_its_last_packet(void **state)
{
	struct rnic_packet first = bench_packet(&bench, WRITE, FIRST, 0, PSN, MTU);
	struct rnic_packet last = bench_packet(&bench, WRITE, LAST, IMMEDIATE, PSN + 1, 1);

	(void)state;
	first.reth = (struct rnic_reth){BENCH_IOVA, bench.mr.key, MTU + 1};
	bench_receive(&bench, quiet(first));
	bench_receive(&bench, last);
	expect_acknowledge(&bench, RNR, PSN + 1, 0);
	bench_post(&bench, 1, 0, 0);
	bench_receive(&bench, last);
	assert_int_equal(bench.completions[0].byte_count, MTU + 1);
	expect_completion(&bench, 1, RNIC_WC_SUCCESS);
	expect_acknowledge(&bench, ACK, PSN + 1, 1);
}

/* --- what breaks the connection -------------------------------------------------------------- */

static struct rnic_packet middle_alone(void)
{
	return bench_packet(&bench, SEND, MIDDLE, 0, PSN, MTU);
}

static struct rnic_packet too_long_send(void)
{
	return bench_send(&bench, PSN, 101);
}

static struct rnic_packet send_to_wrong_lkey(void)
{
	bench.receive_sges[0][0].lkey ^= 0x100;
	return bench_send(&bench, PSN, 10);
}

static struct rnic_packet send_to_malformed_entry(void)
{
	bench.receives[0].invalid = true;
	return bench_send(&bench, PSN, 10);
}

static struct rnic_packet wrong_length(void)
{
	struct rnic_packet packet = bench_write(&bench, PSN, 0, 10);

	packet.reth.length = 11;
	return packet;
}

static struct rnic_packet wrong_rkey(void)
{
	struct rnic_packet packet = bench_write(&bench, PSN, 0, 10);

	packet.reth.rkey ^= 1;
	return packet;
}

static struct rnic_packet wrong_rkey_with_immediate(void)
{
	struct rnic_packet packet = bench_packet(&bench, WRITE, ONLY, IMMEDIATE, PSN, 10);

	packet.reth = (struct rnic_reth){BENCH_IOVA, bench.mr.key ^ 1, 10};
	return packet;
}

static struct rnic_packet read_past_end(void)
{
	return bench_read(&bench, PSN, 1, BENCH_BYTES);
}

static struct rnic_packet misaligned_atomic(void)
{
	return bench_atomic(&bench, FETCH_ADD, PSN, 4, 1, 0);
}

static struct rnic_packet forbidden_read(void)
{
	bench.qp->attributes.access_flags = RNIC_ACCESS_REMOTE_WRITE;
	return bench_read(&bench, PSN, 0, 1);
}

static struct rnic_packet write_to_gone_memory(void)
{
	bench.model.error = -EFAULT;
	return bench_write(&bench, PSN, 0, 1);
}

static struct rnic_packet atomic_on_gone_memory(void)
{
	bench.model.error = -EFAULT;
	return bench_atomic(&bench, FETCH_ADD, PSN, 0, 1, 0);
}

static struct rnic_packet send_to_gone_memory(void)
{
	bench.model.error = -EFAULT;
	return bench_send(&bench, PSN, 10);
}

#define FLUSHED	 RNIC_WC_WR_FLUSH_ERR
#define NO_EVENT RNIC_EVENT_COUNT

/* Two entries of 100 bytes are posted; the second one is flushed in any case. */
static const struct {
	struct rnic_packet (*make)(void);
	uint8_t syndrome;
	enum rnic_wc_status receive_status;
	enum rnic_async_event_type event;
	enum verdict verdict;
} refusals[] = {
	{middle_alone, NAK_BAD, FLUSHED, RNIC_EVENT_QP_REQ_ERR, VERDICT_BAD_SEQUENCE},
	{too_long_send, NAK_BAD, RNIC_WC_LOC_LEN_ERR, NO_EVENT, VERDICT_RECEIVE_TOO_SHORT},
	{send_to_wrong_lkey, NAK_OP, RNIC_WC_LOC_PROT_ERR, NO_EVENT, VERDICT_RECEIVE_PROTECTION},
	{send_to_malformed_entry, NAK_OP, RNIC_WC_LOC_QP_OP_ERR, NO_EVENT, VERDICT_BAD_RECEIVE},
	{wrong_length, NAK_BAD, FLUSHED, RNIC_EVENT_QP_REQ_ERR, VERDICT_BAD_LENGTH},
	{wrong_rkey, NAK_KEY, FLUSHED, RNIC_EVENT_QP_ACCESS_ERR, VERDICT_BAD_RKEY},
	{wrong_rkey_with_immediate, NAK_KEY, RNIC_WC_LOC_ACCESS_ERR, RNIC_EVENT_QP_ACCESS_ERR,
	 VERDICT_BAD_RKEY},
	{read_past_end, NAK_KEY, FLUSHED, RNIC_EVENT_QP_ACCESS_ERR, VERDICT_BAD_RKEY},
	{misaligned_atomic, NAK_BAD, FLUSHED, RNIC_EVENT_QP_REQ_ERR, VERDICT_MISALIGNED_ATOMIC},
	{forbidden_read, NAK_BAD, FLUSHED, RNIC_EVENT_QP_REQ_ERR, VERDICT_BAD_OPERATION},
	{write_to_gone_memory, NAK_OP, FLUSHED, RNIC_EVENT_QP_FATAL, VERDICT_MEMORY_GONE},
	{atomic_on_gone_memory, NAK_OP, FLUSHED, RNIC_EVENT_QP_FATAL, VERDICT_MEMORY_GONE},
	{send_to_gone_memory, NAK_OP, RNIC_WC_LOC_PROT_ERR, RNIC_EVENT_QP_FATAL,
	 VERDICT_MEMORY_GONE},
};

static void expect_refusal(size_t i)
{
	bench_post(&bench, 1, 0, 100);
	bench_post(&bench, 2, 200, 100);
	bench_receive(&bench, refusals[i].make());
	bench_flush(&bench);
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(bench.qp->last_error, refusals[i].verdict);
	assert_int_equal(bench.event_count, refusals[i].event == NO_EVENT ? 0 : 1);
	if (refusals[i].event != NO_EVENT)
		assert_int_equal(bench.events[0], refusals[i].event);
	if (refusals[i].receive_status != FLUSHED)
		assert_int_equal(bench.completions[0].vendor_error,
				 verdict_row(refusals[i].verdict)->cause);
	expect_completion(&bench, 1, refusals[i].receive_status);
	expect_completion(&bench, 2, FLUSHED);
	expect_no_completion(&bench);
	expect_acknowledge(&bench, refusals[i].syndrome, PSN, 0);
	bench_receive(&bench, bench_write(&bench, PSN, 0, 1));
	expect_silence(&bench);
}

static void each_refusal_is_told_and_is_the_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(refusals); i++) {
		bool is_direct = i % 2 == 0;

		for (int round = 0; round < 2; round++, is_direct = !is_direct) {
			bench_start(&bench, PSN, is_direct);
			expect_refusal(i);
			bench_stop(&bench);
		}
	}
}

/* Of a key that cannot be invalidated: IBTA 1.4, 9.9.3 class J. */
static void receive_send_invalidate(uint32_t psn)
{
	bench_receive(&bench, bench_packet(&bench, SEND, ONLY, RNIC_HEADER_INVALIDATE, psn, 10));
}

static void a_refused_invalidation_gets_no_answer(void **state)
{
	(void)state;
	bench_post(&bench, 1, 0, 100);
	bench_post(&bench, 2, 200, 100);
	receive_send_invalidate(PSN);
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(bench.qp->last_error, VERDICT_BAD_INVALIDATE);
	expect_completion(&bench, 1, RNIC_WC_REM_INV_REQ_ERR);
	expect_completion(&bench, 2, RNIC_WC_WR_FLUSH_ERR);
	expect_silence(&bench);
}

static void what_came_before_a_refused_invalidation_is_acknowledged(void **state)
{
	(void)state;
	bench_post(&bench, 1, 0, 100);
	bench_receive(&bench, quiet(bench_write(&bench, PSN, 0, 10)));
	receive_send_invalidate(PSN + 1);
	expect_acknowledge(&bench, ACK, PSN, 1);
	expect_silence(&bench);
}

static void a_write_that_fails_before_a_refused_invalidation_is_refused(void **state)
{
	(void)state;
	bench.model.error = -EFAULT;
	bench_post(&bench, 1, 0, 100);
	bench_receive(&bench, bench_write(&bench, PSN, 0, 10));
	receive_send_invalidate(PSN + 1);
	expect_acknowledge(&bench, NAK_OP, PSN, 0);
	expect_silence(&bench);
}

static void an_open_message_ends_with_the_error(void **state)
{
	(void)state;
	bench_post(&bench, 1, 0, 4 * MTU);
	bench_receive(&bench, quiet(bench_packet(&bench, SEND, FIRST, 0, PSN, MTU)));
	bench_receive(&bench, bench_write(&bench, PSN + 1, 0, 1));
	expect_completion(&bench, 1, RNIC_WC_REM_INV_REQ_ERR);
	expect_acknowledge(&bench, NAK_BAD, PSN + 1, 0);
	expect_silence(&bench);
}

static void more_reads_than_agreed_are_refused(void **state)
{
	(void)state;
	for (uint32_t i = 0; i <= BENCH_RD_ATOMIC; i++)
		bench_receive(&bench, bench_read(&bench, PSN + i, 0, 1));
	expect_response(&bench, ONLY, PSN, 1, 0, 1);
	expect_response(&bench, ONLY, PSN + 1, 2, 0, 1);
	expect_acknowledge(&bench, NAK_BAD, PSN + 2, 2);
	assert_int_equal(bench.qp->last_error, VERDICT_TOO_MANY_READS);
}

/*
 * Bytes that wait for the flush, and fail there, get no acknowledgement, nor do those behind them.
 */
static void a_late_failure_takes_back_what_followed(void **state)
{
	(void)state;
	bench.model.error = -EFAULT;
	bench_receive(&bench, bench_write(&bench, PSN, 0, 10));
	bench_receive(&bench, bench_read(&bench, PSN + 1, 0, 10));
	bench_receive(&bench, bench_write(&bench, PSN + 2, 0, 10));
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_RTR);
	expect_acknowledge(&bench, NAK_OP, PSN, 0);
	expect_silence(&bench);
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(bench.engine.counters[COUNTER_MEMORY_ERRORS], 1);
}

static void a_completion_waits_for_its_bytes(void **state)
{
	(void)state;
	bench_post(&bench, 1, 300, 100);
	bench_receive(&bench, bench_write(&bench, PSN, 0, 10));
	assert_int_equal(bench.memory[0], 0);
	bench_receive(&bench, bench_send(&bench, PSN + 1, 10));
	expect_no_completion(&bench);
	bench_flush(&bench);
	assert_int_equal(bench.memory[0], 1);
	assert_memory_equal(bench.memory + 300, bench.payload, 10);
	expect_completion(&bench, 1, RNIC_WC_SUCCESS);
}

static void a_full_completion_queue_breaks_the_connection(void **state)
{
	(void)state;
	bench.completion_limit = 1;
	bench_post(&bench, 1, 0, 10);
	bench_post(&bench, 2, 0, 10);
	bench_receive(&bench, bench_send(&bench, PSN, 1));
	bench_receive(&bench, bench_send(&bench, PSN + 1, 1));
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(bench.qp->last_error, VERDICT_CQ_OVERRUN);
	expect_silence(&bench);
}

/* --- READ ------------------------------------------------------------------------------------ */

static void a_read_is_answered_packet_by_packet(void **state)
{
	(void)state;
	bench_receive(&bench, bench_read(&bench, PSN, 7, 3 * MTU - 1));
	bench_receive(&bench, bench_read(&bench, PSN + 3, 0, 0));
	expect_response(&bench, FIRST, PSN, 1, 7, MTU);
	expect_response(&bench, MIDDLE, PSN + 1, 1, 7 + MTU, MTU);
	expect_response(&bench, LAST, PSN + 2, 1, 7 + 2 * MTU, MTU - 1);
	expect_response(&bench, ONLY, PSN + 3, 2, 0, 0);
	expect_silence(&bench);
	bench_receive(&bench, bench_read(&bench, PSN + 4, 0, MTU));
	expect_response(&bench, ONLY, PSN + 4, 3, 0, MTU);
	bench_receive(&bench, bench_read(&bench, PSN + 5, 0, MTU + 1));
	expect_response(&bench, FIRST, PSN + 5, 4, 0, MTU);
	expect_response(&bench, LAST, PSN + 6, 4, MTU, 1);
	expect_silence(&bench);
}

static void answers_leave_in_the_order_of_requests(void **state)
{
	(void)state;
	bench_post(&bench, 1, 0, 100);
	bench_receive(&bench, bench_write(&bench, PSN, 0, 1));
	bench_receive(&bench, bench_read(&bench, PSN + 1, 0, 2 * MTU));
	expect_acknowledge(&bench, ACK, PSN, 1);
	bench_receive(&bench, bench_send(&bench, PSN + 3, 10));
	bench_receive(&bench, bench_atomic(&bench, FETCH_ADD, PSN + 4, 8, 1, 0));
	expect_response(&bench, FIRST, PSN + 1, 2, 0, MTU);
	expect_response(&bench, LAST, PSN + 2, 2, MTU, MTU);
	expect_acknowledge(&bench, ACK, PSN + 3, 3);
	expect_atomic(&bench, PSN + 4, 4, 0x0a09);
	expect_silence(&bench);
}

static void a_refusal_waits_for_the_answers_before_it(void **state)
{
	(void)state;
	bench_receive(&bench, bench_read(&bench, PSN, 0, 2 * MTU));
	bench_receive(&bench, bench_packet(&bench, SEND, MIDDLE, 0, PSN + 2, MTU));
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_ERR);
	expect_response(&bench, FIRST, PSN, 1, 0, MTU);
	expect_response(&bench, LAST, PSN + 1, 1, MTU, MTU);
	expect_acknowledge(&bench, NAK_BAD, PSN + 2, 1);
	expect_silence(&bench);
}

static void part_of_a_read_is_repeated(void **state)
{
	static const struct {
		uint32_t skip_packets, bytes;
	} parts[] = {{0, 4 * MTU}, {1, 3 * MTU}, {3, MTU}, {1, MTU}, {2, MTU + 1}};

	(void)state;
	bench_receive(&bench, bench_read(&bench, PSN, 64, 4 * MTU));
	for (uint32_t i = 0; i < 4; i++)
		expect_response(&bench,
				i == 0	 ? FIRST
				: i == 3 ? LAST
					 : MIDDLE,
				PSN + i, 1, 64 + i * MTU, MTU);
	for (size_t i = 0; i < RNIC_COUNT_OF(parts); i++) {
		uint32_t first = parts[i].skip_packets;
		uint32_t left = parts[i].bytes;

		bench_receive(&bench, bench_read(&bench, PSN + first, 64 + first * MTU, left));
		for (uint32_t at = first; left > 0; at++) {
			uint32_t bytes = left < MTU ? left : MTU;
			enum rnic_position position = at == first ? FIRST : MIDDLE;

			left -= bytes;
			if (left == 0)
				position = at == first ? ONLY : LAST;
			expect_response(&bench, position, PSN + at, 1, 64 + at * MTU, bytes);
		}
		expect_silence(&bench);
	}
}

static void a_repetition_of_something_else_is_dropped(void **state)
{
	struct rnic_packet packet;

	(void)state;
	bench_receive(&bench, bench_read(&bench, PSN, 64, 2 * MTU));
	expect_response(&bench, FIRST, PSN, 1, 64, MTU);
	expect_response(&bench, LAST, PSN + 1, 1, 64 + MTU, MTU);
	bench_receive(&bench, bench_read(&bench, PSN, 65, MTU));
	bench_receive(&bench, bench_read(&bench, PSN, 64, 2 * MTU + 1));
	bench_receive(&bench, bench_read(&bench, PSN + 1, 64, MTU));
	bench_receive(&bench, bench_read(&bench, PSN - 1, 64, MTU));
	bench_receive(&bench, bench_atomic(&bench, FETCH_ADD, PSN, 64, 1, 0));
	packet = bench_read(&bench, PSN, 64, MTU);
	packet.reth.rkey ^= 1;
	bench_receive(&bench, packet);
	expect_silence(&bench);
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_RTR);
	assert_int_equal(bench.model.atomics, 0);
}

/* A peer that timed out too early, has its answer by now, and goes on, is within its rights. */
static void a_repetition_does_not_count_as_outstanding(void **state)
{
	(void)state;
	bench_receive(&bench, bench_read(&bench, PSN, 0, 1));
	bench_receive(&bench, bench_read(&bench, PSN + 1, 1, 1));
	expect_response(&bench, ONLY, PSN, 1, 0, 1);
	expect_response(&bench, ONLY, PSN + 1, 2, 1, 1);
	bench_receive(&bench, bench_read(&bench, PSN, 0, 1));
	bench_receive(&bench, bench_read(&bench, PSN + 1, 1, 1));
	bench_receive(&bench, bench_read(&bench, PSN + 2, 2, 1));
	expect_response(&bench, ONLY, PSN + 1, 2, 1, 1);
	expect_response(&bench, ONLY, PSN + 2, 3, 2, 1);
	expect_silence(&bench);
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_RTR);
}

static void a_read_asked_for_again_starts_again(void **state)
{
	(void)state;
	bench_receive(&bench, bench_read(&bench, PSN, 0, 3 * MTU));
	bench_receive(&bench,
		      bench_read(&bench, PSN, 0, 3 * MTU)); /* nothing sent: no difference */
	expect_response(&bench, FIRST, PSN, 1, 0, MTU);
	expect_response(&bench, MIDDLE, PSN + 1, 1, MTU, MTU);
	bench_receive(&bench, bench_read(&bench, PSN, 0, 3 * MTU));
	expect_response(&bench, FIRST, PSN, 1, 0, MTU);
	expect_response(&bench, MIDDLE, PSN + 1, 1, MTU, MTU);
	expect_response(&bench, LAST, PSN + 2, 1, 2 * MTU, MTU);
	expect_silence(&bench);
}

static void a_region_that_goes_ends_the_answer(void **state)
{
	(void)state;
	bench_receive(&bench, bench_read(&bench, PSN, 0, 3 * MTU));
	bench_receive(&bench, bench_write(&bench, PSN + 3, 0, 1));
	expect_response(&bench, FIRST, PSN, 1, 0, MTU);
	mr_deregister(&bench.engine, &bench.mr);
	bench.mr.region = NULL;
	expect_acknowledge(&bench, NAK_KEY, PSN + 1, 2);
	expect_silence(&bench);
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_ERR);
}

static void unreadable_bytes_end_the_answer(void **state)
{
	(void)state;
	bench_receive(&bench, bench_read(&bench, PSN, 0, 3 * MTU));
	bench_receive(&bench, bench_read(&bench, PSN + 3, 0, 1));
	expect_response(&bench, FIRST, PSN, 1, 0, MTU);
	expect_response(&bench, MIDDLE, PSN + 1, 1, MTU, MTU);
	engine_payload_failed(&bench.engine, bench.qp, rnic_psn(PSN + 1), true, -EFAULT, 3000);
	expect_acknowledge(&bench, NAK_OP, PSN + 1, 2);
	expect_silence(&bench);
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(bench.events[0], RNIC_EVENT_QP_FATAL);
}

/* --- atomics --------------------------------------------------------------------------------- */

static void an_atomic_executes_once(void **state)
{
	uint64_t word;

	(void)state;
	bench_receive(&bench, bench_atomic(&bench, FETCH_ADD, PSN, 8, 5, 0));
	expect_atomic(&bench, PSN, 1, 0);
	bench_receive(&bench, bench_atomic(&bench, SWAP, PSN + 1, 8, 9, 5));
	expect_atomic(&bench, PSN + 1, 2, 5);
	for (int i = 0; i < 3; i++) {
		bench_receive(&bench, bench_atomic(&bench, FETCH_ADD, PSN, 8, 5, 0));
		bench_receive(&bench, bench_atomic(&bench, SWAP, PSN + 1, 8, 9, 5));
		expect_atomic(&bench, PSN, 1, 0);
		expect_atomic(&bench, PSN + 1, 2, 5);
		expect_silence(&bench);
	}
	bench_receive(&bench, bench_atomic(&bench, SWAP, PSN + 2, 8, 1, 5));
	expect_atomic(&bench, PSN + 2, 3, 9);
	memcpy(&word, bench.memory + 8, sizeof(word));
	assert_int_equal(word, 9);
	assert_int_equal(bench.model.atomics, 3);
	bench_receive(&bench, bench_atomic(&bench, FETCH_ADD, PSN, 8, 5, 0)); /* forgotten by now */
	expect_silence(&bench);
	assert_int_equal(bench.model.atomics, 3);
}

static void an_atomic_sees_what_was_written_before(void **state)
{
	uint64_t written;

	(void)state;
	memcpy(&written, bench.payload, sizeof(written));
	bench_receive(&bench, bench_write(&bench, PSN, 16, 8));
	bench_receive(&bench, bench_atomic(&bench, FETCH_ADD, PSN + 1, 16, 1, 0));
	expect_acknowledge(&bench, ACK, PSN, 1);
	expect_atomic(&bench, PSN + 1, 2, written);
}

/* --- states ---------------------------------------------------------------------------------- */

static void modify_to(enum rnic_qp_state to)
{
	const struct rnic_qp_attributes attributes = {.state = to};

	assert_int_equal(qp_modify(bench.qp, &attributes, RNIC_QP_ATTR_STATE), 0);
}

static void error_flushes_every_receive(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		bench_post(&bench, i, 0, 2 * MTU);
	bench_receive(&bench, bench_packet(&bench, SEND, FIRST, 0, PSN, MTU));
	bench_receive(&bench, bench_read(&bench, PSN, 0, 1));
	modify_to(RNIC_QP_STATE_ERR);
	for (uint32_t i = 0; i < 12; i++) {
		assert_int_equal(bench.completions[0].retired, i + 1);
		expect_completion(&bench, i, RNIC_WC_WR_FLUSH_ERR);
	}
	expect_no_completion(&bench);
	bench_post(&bench, 99, 0, 1);
	qp_flush_receives(bench.qp);
	expect_completion(&bench, 99, RNIC_WC_WR_FLUSH_ERR);
	expect_acknowledge(&bench, 0x1f, PSN, 0);
	expect_silence(&bench);
}

static void reset_forgets_everything(void **state)
{
	(void)state;
	bench_post(&bench, 1, 0, 2 * MTU);
	bench_receive(&bench, bench_read(&bench, PSN, 0, 1));
	bench_receive(&bench, bench_packet(&bench, SEND, FIRST, 0, PSN + 1, MTU));
	modify_to(RNIC_QP_STATE_RESET);
	expect_silence(&bench);
	expect_no_completion(&bench);
	assert_false(bench.qp->responder.has_receive);
	assert_int_equal(bench.qp->responder.open_operation, RNIC_OPERATION_NONE);
	assert_int_equal(bench.qp->recv_queue.pushed, 0);
}

#define TEST(name)	    cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define DEFERRED_TEST(name) cmocka_unit_test_setup_teardown(name, start_deferred, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_send_is_scattered_and_completed),
		DEFERRED_TEST(a_send_is_scattered_and_completed),
		TEST(one_acknowledgement_stands_for_a_burst),
		TEST(none_is_sent_unasked),
		TEST(a_write_lands_without_a_completion),
		TEST(a_write_with_immediate_completes_a_receive),
		DEFERRED_TEST(a_write_with_immediate_completes_a_receive),
		TEST(the_sequence_wraps),
		TEST(a_duplicate_is_acknowledged_and_not_executed),
		TEST(a_gap_is_told_once),
		TEST(a_gap_that_closes_in_time_is_told_for_what_was_dropped),
		TEST(a_gap_whose_packets_all_came_again_is_not_told),
		TEST(no_receive_wqe_means_later),
		TEST(an_immediate_without_entry_waits_for_its_last_packet),
		cmocka_unit_test(each_refusal_is_told_and_is_the_end),
		TEST(a_refused_invalidation_gets_no_answer),
		TEST(what_came_before_a_refused_invalidation_is_acknowledged),
		DEFERRED_TEST(a_write_that_fails_before_a_refused_invalidation_is_refused),
		TEST(an_open_message_ends_with_the_error),
		TEST(more_reads_than_agreed_are_refused),
		DEFERRED_TEST(a_late_failure_takes_back_what_followed),
		DEFERRED_TEST(a_completion_waits_for_its_bytes),
		TEST(a_full_completion_queue_breaks_the_connection),
		TEST(a_read_is_answered_packet_by_packet),
		TEST(answers_leave_in_the_order_of_requests),
		TEST(a_refusal_waits_for_the_answers_before_it),
		TEST(part_of_a_read_is_repeated),
		TEST(a_repetition_of_something_else_is_dropped),
		TEST(a_repetition_does_not_count_as_outstanding),
		TEST(a_read_asked_for_again_starts_again),
		TEST(a_region_that_goes_ends_the_answer),
		TEST(unreadable_bytes_end_the_answer),
		TEST(an_atomic_executes_once),
		DEFERRED_TEST(an_atomic_sees_what_was_written_before),
		TEST(error_flushes_every_receive),
		TEST(reset_forgets_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
