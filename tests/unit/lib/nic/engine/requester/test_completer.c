/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/engine/engine_fixture.h"

#include "lib/nic/engine/requester/completer.h"
#include "proto/wire/syndrome.h"
#include "tests/unit/unit_test.h"

#define ACK_SYNDROME rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED)
#define NAK(code)    rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_##code)

#define FIRST  RNIC_POSITION_FIRST
#define MIDDLE RNIC_POSITION_MIDDLE
#define LAST   RNIC_POSITION_LAST
#define ONLY   RNIC_POSITION_ONLY

static void fill(uint8_t *bytes, uint32_t length, uint8_t seed)
{
	for (uint32_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(seed + i * 3);
}

static void receive_atomic(struct engine_fixture *fixture, uint32_t psn, uint64_t original)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_ATOMIC_ACKNOWLEDGE, ONLY, psn);

	packet.aeth.syndrome = ACK_SYNDROME;
	packet.atomic_original = original;
	fixture_receive(fixture, &packet);
}

static void test_one_ack_for_many(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 3000);
	assert_int_equal(fixture_transmit_all(fixture), 24);
	fixture_receive_acknowledge(fixture, 100 + 13, ACK_SYNDROME); /* in the fifth */
	assert_int_equal(fixture->completion_count, 4);
	fixture_receive_acknowledge(fixture, 100 + 23, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 8);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(fixture->completions[i].wr_id, i);
		assert_int_equal(fixture->completions[i].retired, i + 1);
		assert_int_equal(fixture->completions[i].opcode, RNIC_WC_SEND);
	}
	assert_int_equal(fixture->qp->peer_window->in_flight_bytes, 0);
	fixture_destroy(fixture);
}

static void test_unsignaled_are_silent(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_sge sge = fixture_sge(fixture, 0, 8);
	struct send_wqe wqe = fixture_work(RNIC_WR_RDMA_WRITE, 1, 8);

	(void)state;
	wqe.flags = 0;
	fixture_post(fixture, &wqe, &sge);
	fixture_post(fixture, &wqe, &sge);
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 3, 8);
	fixture_transmit_all(fixture);
	fixture_receive_acknowledge(fixture, 102, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].wr_id, 3);
	assert_int_equal(fixture->completions[0].retired, 3);
	fixture_destroy(fixture);
}

static void test_signal_all(void **state)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;
	struct send_wqe wqe;
	struct rnic_sge sge;

	(void)state;
	options.signal_all = true;
	fixture = fixture_create(&options);
	sge = fixture_sge(fixture, 0, 8);
	wqe = fixture_work(RNIC_WR_SEND, 1, 8);
	wqe.flags = 0;
	fixture_post(fixture, &wqe, &sge);
	fixture_transmit_all(fixture);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 1);
	fixture_destroy(fixture);
}

static void test_strangers_are_ignored(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	fixture_receive_acknowledge(fixture, 99, ACK_SYNDROME); /* old */
	fixture_receive_acknowledge(fixture, 99, NAK(REMOTE_ACCESS_ERROR));
	fixture_receive_acknowledge(fixture, 101, ACK_SYNDROME); /* never sent */
	fixture_receive_acknowledge(fixture, 101, NAK(REMOTE_ACCESS_ERROR));
	fixture_receive_acknowledge(fixture, 100, 0x40); /* reserved syndrome */
	assert_int_equal(fixture->completion_count, 0);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME); /* again */
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->engine.counters[COUNTER_BAD_RESPONSES], 3);
	fixture_destroy(fixture);
}

static void test_fatal_naks(void **state)
{
	static const struct {
		uint8_t code;
		uint8_t status;
	} rows[] = {
		{RNIC_NAK_INVALID_REQUEST, RNIC_WC_REM_INV_REQ_ERR},
		{RNIC_NAK_REMOTE_ACCESS_ERROR, RNIC_WC_REM_ACCESS_ERR},
		{RNIC_NAK_REMOTE_OPERATIONAL_ERROR, RNIC_WC_REM_OP_ERR},
		{RNIC_NAK_INVALID_RD_REQUEST, RNIC_WC_REM_OP_ERR},
		{9, RNIC_WC_BAD_RESP_ERR},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct engine_fixture *fixture = fixture_create(&fixture_defaults);

		for (uint64_t n = 0; n < 4; n++)
			fixture_post_simple(fixture, RNIC_WR_SEND, n, 8);
		fixture_transmit_all(fixture);
		fixture_receive_acknowledge(fixture, 101,
					    rnic_syndrome_make(RNIC_SYNDROME_NAK, rows[i].code));
		assert_int_equal(fixture->completion_count, 4);
		assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
		assert_int_equal(fixture->completions[1].status, rows[i].status);
		assert_int_equal(fixture->completions[2].status, RNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(fixture->completions[3].retired, 4);
		assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
		assert_true(engine_next_deadline_ns(&fixture->engine) == UINT64_MAX);
		fixture_post_simple(fixture, RNIC_WR_SEND, 5, 8); /* flushed at once */
		assert_int_equal(fixture->completions[4].status, RNIC_WC_WR_FLUSH_ERR);
		fixture_destroy(fixture);
	}
}

/* A READ whose data lands in three pieces, at once or batched. */
static void read_into_sges(bool is_batched)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;
	struct send_wqe wqe = fixture_work(RNIC_WR_RDMA_READ, 1, 2500);
	struct rnic_sge sges[3];
	uint8_t data[2500];

	options.is_batched = is_batched;
	fixture = fixture_create(&options);
	fill(data, sizeof(data), 1);
	sges[0] = fixture_sge(fixture, 50000, 1000);
	sges[1] = fixture_sge(fixture, 10000, 100);
	sges[2] = fixture_sge(fixture, 90000, 1400);
	wqe.sge_count = 3;
	fixture_post(fixture, &wqe, sges);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_receive_read(fixture, FIRST, 100, data, 1024);
	fixture_receive_read(fixture, MIDDLE, 101, data + 1024, 1024);
	assert_int_equal(fixture->completion_count, 0);
	fixture_receive_read(fixture, LAST, 102, data + 2048, 452);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
	assert_int_equal(fixture->completions[0].byte_count, 2500);
	assert_int_equal(fixture->completions[0].opcode, RNIC_WC_RDMA_READ);
	assert_memory_equal(fixture->memory.bytes + 50000, data, 1000);
	assert_memory_equal(fixture->memory.bytes + 10000, data + 1000, 100);
	assert_memory_equal(fixture->memory.bytes + 90000, data + 1100, 1400);
	fixture_destroy(fixture);
}

static void test_read_scatters(void **state)
{
	(void)state;
	read_into_sges(false);
	read_into_sges(true);
}

static void test_empty_read(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 1, 0);
	fixture_transmit_all(fixture);
	fixture_receive_read(fixture, ONLY, 100, NULL, 0);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->qp->requester.unacknowledged.value, 101);
	fixture_destroy(fixture);
}

/* One response is lost: the requester keeps those behind it, and asks for that one alone. */
static void lost_read_response(enum rnic_position answer)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	const struct rnic_packet *packet = &fixture->sent.packet;
	uint8_t data[4096];

	fill(data, sizeof(data), 9);
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 1, 4096);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_receive_read(fixture, FIRST, 100, data, 1024);
	fixture_receive_read(fixture, MIDDLE, 102, data + 2048, 1024);
	fixture_receive_read(fixture, LAST, 103, data + 3072, 1024);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(packet->psn.value, 101);
	assert_int_equal(packet->reth.address, UINT64_C(0x7000000000) + 1024);
	assert_int_equal(packet->reth.length, 1024);
	fixture_receive_read(fixture, MIDDLE, 102, data, 1024); /* a copy, and wrong */
	assert_int_equal(fixture->completion_count, 0);
	fixture_receive_read(fixture, answer, 101, data + 1024, 1024);
	fixture_receive_read(fixture, answer, 101, data, 1024);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
	assert_memory_equal(fixture->memory.bytes, data, 4096);
	fixture_destroy(fixture);
}

static void test_read_goes_on_after_a_loss(void **state)
{
	(void)state;
	lost_read_response(ONLY);
	lost_read_response(LAST); /* as rdma_rxe answers */
}

/*
 * A probe asked for the first packet of a READ alone, and then a sequence NAK had all of it asked
 * for again: the answer to the probe ends with that packet, and is good.
 */
static void test_answer_to_a_part_asked_for_before(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	uint8_t data[8192];

	(void)state;
	fill(data, sizeof(data), 7);
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 1, 8192);
	fixture->qp->retry.may_probe = true; /* others have the window */
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.reth.length, 1024);
	fixture->qp->retry.may_probe = false;
	fixture_receive_acknowledge(
		fixture, 100, rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_PSN_SEQUENCE_ERROR));
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.reth.length, 8192);
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 8);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_receive_read(fixture, ONLY, 100, data, 1024);
	assert_int_equal(fixture->completion_count, 0);
	assert_int_equal(fixture->qp->requester.unacknowledged.value, 101);
	/* No part that was asked for ends here. */
	fixture_receive_read(fixture, LAST, 101, data + 1024, 1024);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_BAD_RESP_ERR);
	fixture_destroy(fixture);
}

/* The peer sends a NAK once, here before a response that was lost comes again: it still counts. */
static void test_nak_behind_missing_responses(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	uint8_t data[4096];

	(void)state;
	fill(data, sizeof(data), 5);
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 1, 4096);
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 2, 4096);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	fixture_receive_read(fixture, FIRST, 100, data, 1024);
	fixture_receive_read(fixture, MIDDLE, 102, data + 2048, 1024);
	fixture_receive_read(fixture, LAST, 103, data + 3072, 1024);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.psn.value, 101);
	fixture_receive_acknowledge(
		fixture, 104, rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_PSN_SEQUENCE_ERROR));
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_receive_read(fixture, ONLY, 101, data + 1024, 1024);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.psn.value, 104);
	assert_int_equal(fixture->sent.packet.reth.length, 4096);
	fixture_destroy(fixture);
}

/* The answer comes after the timeout took the position back: nothing has to go out again. */
static void test_late_read_response(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	uint8_t data[2048];

	(void)state;
	fill(data, sizeof(data), 4);
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 1, 2048);
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 8);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	fixture_tick(fixture, UINT64_C(100000000));
	fixture_receive_read(fixture, FIRST, 100, data, 1024);
	fixture_receive_read(fixture, LAST, 101, data + 1024, 1024);
	fixture_receive_acknowledge(fixture, 102, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 2);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_destroy(fixture);
}

/* An acknowledgement of a request behind a READ proves that the READ's response was lost. */
static void test_ack_behind_a_read(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 2, 2048);
	fixture_post_simple(fixture, RNIC_WR_SEND, 3, 8);
	assert_int_equal(fixture_transmit_all(fixture), 3);
	fixture_receive_acknowledge(fixture, 102, ACK_SYNDROME); /* within the READ: no proof */
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_receive_acknowledge(fixture, 103, ACK_SYNDROME);
	fixture_receive_acknowledge(fixture, 103, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	assert_int_equal(fixture->qp->retry.retries_left, 6);
	fixture_destroy(fixture);
}

/* A response acknowledges the SENDs before it. */
static void test_response_acknowledges(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 2, 8);
	fixture_transmit_all(fixture);
	fixture_receive_read(fixture, ONLY, 101, fixture->memory.bytes + 100, 8);
	assert_int_equal(fixture->completion_count, 2);
	assert_int_equal(fixture->completions[0].wr_id, 1);
	fixture_destroy(fixture);
}

static void test_atomic_original(void **state)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;
	const uint64_t original = UINT64_C(0x1122334455667788);

	(void)state;
	options.is_batched = true;
	fixture = fixture_create(&options);
	fixture_post_simple(fixture, RNIC_WR_ATOMIC_FETCH_ADD, 1, 8);
	fixture_transmit_all(fixture);
	receive_atomic(fixture, 100, original);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].opcode, RNIC_WC_FETCH_ADD);
	assert_int_equal(fixture->completions[0].byte_count, 8);
	assert_memory_equal(fixture->memory.bytes, &original, 8);
	fixture_destroy(fixture);
}

static void test_bad_responses(void **state)
{
	static const struct {
		enum rnic_wr_opcode opcode;
		enum rnic_position position;
		uint32_t bytes;
	} rows[] = {
		{RNIC_WR_RDMA_READ, FIRST, 1000}, /* short */
		{RNIC_WR_RDMA_READ, ONLY, 1024},  /* ends too early */
		{RNIC_WR_RDMA_READ, LAST, 1024},  {RNIC_WR_RDMA_READ, FIRST, 1025}, /* long */
		{RNIC_WR_SEND, FIRST, 1024}, /* an answer to no READ */
	};
	static const uint8_t data[2048];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct engine_fixture *fixture = fixture_create(&fixture_defaults);

		fixture_post_simple(fixture, rows[i].opcode, 1, 2048);
		fixture_transmit_all(fixture);
		fixture_receive_read(fixture, rows[i].position, 100, data, rows[i].bytes);
		assert_int_equal(fixture->completion_count, 1);
		assert_int_equal(fixture->completions[0].status, RNIC_WC_BAD_RESP_ERR);
		assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
		fixture_destroy(fixture);
	}
}

/* The destination of a READ is gone: an error completion, never a good one. */
static void memory_gone(bool is_batched)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;
	static const uint8_t data[2048];

	options.is_batched = is_batched;
	fixture = fixture_create(&options);
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 1, 1024);
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 8);
	fixture_transmit_all(fixture);
	fixture->memory.error = -14;
	fixture_receive_read(fixture, ONLY, 100, data, 1024);
	assert_int_equal(fixture->completion_count, 2);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_LOC_PROT_ERR);
	assert_int_equal(fixture->completions[1].status, RNIC_WC_WR_FLUSH_ERR);
	fixture_destroy(fixture);
}

static void test_memory_gone(void **state)
{
	(void)state;
	memory_gone(false);
	memory_gone(true);
}

static void test_cq_overrun(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture->completion_room = 2;
	for (uint64_t i = 0; i < 4; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	fixture_transmit_all(fixture);
	fixture_receive_acknowledge(fixture, 103, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 2);
	assert_true(fixture->send_cq.overrun);
	assert_int_equal(fixture->event_count, 2);
	assert_int_equal(fixture->events[0], RNIC_EVENT_CQ_ERR);
	assert_int_equal(fixture->events[1], RNIC_EVENT_QP_FATAL);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(fixture->qp->last_error, VERDICT_CQ_OVERRUN);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_ack_for_many),
		cmocka_unit_test(test_unsignaled_are_silent),
		cmocka_unit_test(test_signal_all),
		cmocka_unit_test(test_strangers_are_ignored),
		cmocka_unit_test(test_fatal_naks),
		cmocka_unit_test(test_read_scatters),
		cmocka_unit_test(test_empty_read),
		cmocka_unit_test(test_read_goes_on_after_a_loss),
		cmocka_unit_test(test_answer_to_a_part_asked_for_before),
		cmocka_unit_test(test_nak_behind_missing_responses),
		cmocka_unit_test(test_late_read_response),
		cmocka_unit_test(test_ack_behind_a_read),
		cmocka_unit_test(test_response_acknowledges),
		cmocka_unit_test(test_atomic_original),
		cmocka_unit_test(test_bad_responses),
		cmocka_unit_test(test_memory_gone),
		cmocka_unit_test(test_cq_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
