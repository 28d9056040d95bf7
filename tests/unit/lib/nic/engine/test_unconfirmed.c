/* SPDX-License-Identifier: MIT */
/* UC: requester and responder without acknowledgements. */
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define MTU    1024
#define FIRST  RNIC_POSITION_FIRST
#define MIDDLE RNIC_POSITION_MIDDLE
#define LAST   RNIC_POSITION_LAST
#define ONLY   RNIC_POSITION_ONLY

static struct engine_fixture *start(void)
{
	struct fixture_options options = fixture_defaults;

	options.type = RNIC_QP_TYPE_UC;
	return fixture_create(&options);
}

static void a_message_is_done_when_it_was_read(void **state)
{
	struct engine_fixture *fixture = start();

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 1, 3 * MTU);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(fixture->completion_count, 0);
		assert_true(fixture_transmit(fixture));
		assert_int_equal(fixture->sent.packet.psn.value, fixture_defaults.sq_psn + i);
		assert_false(fixture->sent.packet.ack_request);
		engine_packets_read(&fixture->engine, fixture->now_ns);
	}
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
	assert_int_equal(fixture->qp->peer_window->in_flight_bytes, 0);
	assert_int_equal(engine_next_deadline_ns(&fixture->engine), UINT64_MAX);
	fixture_destroy(fixture);
}

static void operations_with_an_answer_are_refused(void **state)
{
	static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_RDMA_READ, RNIC_WR_ATOMIC_FETCH_ADD,
						      RNIC_WR_SEND_WITH_INVALIDATE};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(opcodes); i++) {
		struct engine_fixture *fixture = start();

		fixture_post_simple(fixture, opcodes[i], 1, 8);
		assert_false(fixture_transmit(fixture));
		assert_int_equal(fixture->completions[0].status, RNIC_WC_LOC_QP_OP_ERR);
		assert_int_equal(fixture->qp->state, RNIC_QP_STATE_SQE);
		fixture_destroy(fixture);
	}
}

/* Packets of SENDs of 2.5 MTU, by position and PSN, and which messages come of them. */
static const struct {
	const char *name;
	struct {
		enum rnic_position position;
		uint32_t psn;
	} packets[8];
	uint32_t packet_count;
	uint32_t received;
	uint32_t dropped;
} exchanges[] = {
	{"whole", {{FIRST, 100}, {MIDDLE, 101}, {LAST, 102}, {ONLY, 103}}, 4, 2, 0},
	{"first lost", {{MIDDLE, 101}, {LAST, 102}, {ONLY, 103}}, 3, 1, 0},
	{"middle lost", {{FIRST, 100}, {LAST, 102}, {ONLY, 103}}, 3, 1, 1},
	{"last lost", {{FIRST, 100}, {MIDDLE, 101}, {ONLY, 103}}, 3, 1, 1},
	{"last and first lost", {{FIRST, 100}, {MIDDLE, 104}, {LAST, 105}, {ONLY, 106}}, 4, 1, 1},
	{"no last", {{FIRST, 100}, {FIRST, 101}, {LAST, 102}}, 3, 1, 1},
	{"only within", {{FIRST, 100}, {ONLY, 101}, {LAST, 102}}, 3, 1, 1},
	{"copies", {{ONLY, 100}, {ONLY, 100}, {FIRST, 101}, {FIRST, 101}, {LAST, 102}}, 5, 2, 0},
	{"late", {{ONLY, 101}, {ONLY, 100}, {ONLY, 102}}, 3, 2, 0},
	{"far behind", {{ONLY, 100}, {ONLY, 101 - LIMIT_UC_LATE_PACKETS - 1}}, 2, 2, 0},
};

static void messages_are_received_whole_or_not_at_all(void **state)
{
	static const uint8_t payload[MTU];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(exchanges); i++) {
		struct engine_fixture *fixture = start();

		for (uint64_t receive = 0; receive < 4; receive++)
			fixture_post_receive(fixture, receive, (uint32_t)receive * 4096, 4096);
		for (uint32_t j = 0; j < exchanges[i].packet_count; j++) {
			struct rnic_packet packet = fixture_packet(
				fixture, RNIC_OPERATION_SEND, exchanges[i].packets[j].position,
				exchanges[i].packets[j].psn & RNIC_PSN_MASK);

			packet.payload = payload;
			packet.payload_bytes = MTU;
			fixture_receive(fixture, &packet);
			assert_false(fixture_transmit(fixture));
		}
		if (fixture->completion_count != exchanges[i].received ||
		    fixture->engine.counters[COUNTER_DROPPED_MESSAGES] != exchanges[i].dropped)
			fail_msg("%s: %u received", exchanges[i].name, fixture->completion_count);
		/* Receives are used in order, whichever messages were dropped. */
		for (uint32_t j = 0; j < fixture->completion_count; j++)
			assert_int_equal(fixture->completions[j].wr_id, j);
		fixture_destroy(fixture);
	}
}

/* A SEND that was dropped holds a receive; a WRITE that follows must not complete it. */
static void a_write_leaves_the_kept_receive_alone(void **state)
{
	static const uint8_t payload[MTU];
	struct engine_fixture *fixture = start();
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_SEND, RNIC_POSITION_FIRST, 100);

	(void)state;
	fixture_post_receive(fixture, 1, 0, 4096);
	packet.payload = payload;
	packet.payload_bytes = MTU;
	fixture_receive(fixture, &packet);
	packet = fixture_packet(fixture, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, 101);
	packet.reth = (struct rnic_reth){FIXTURE_IOVA + 8192, fixture->mr.key, 8};
	packet.payload = payload;
	packet.payload_bytes = 8;
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->engine.counters[COUNTER_WRITE_REQUESTS], 1);
	assert_int_equal(fixture->completion_count, 0);
	assert_int_equal(fixture->memory.bytes[8192], 0);
	fixture_destroy(fixture);
}

static void memory_of_ours_that_fails_ends_the_qp(void **state)
{
	static const uint8_t payload[8];
	struct engine_fixture *fixture = start();
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 100);

	(void)state;
	fixture_post_receive(fixture, 1, 0, 4096);
	fixture_post_receive(fixture, 2, 0, 4096);
	packet.payload = payload;
	packet.payload_bytes = 8;
	fixture->memory.error = -14;
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completion_count, 2);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_LOC_PROT_ERR);
	assert_int_equal(fixture->completions[1].status, RNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
	assert_false(fixture_transmit(fixture));
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_done_when_it_was_read),
		cmocka_unit_test(operations_with_an_answer_are_refused),
		cmocka_unit_test(messages_are_received_whole_or_not_at_all),
		cmocka_unit_test(a_write_leaves_the_kept_receive_alone),
		cmocka_unit_test(memory_of_ours_that_fails_ends_the_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
