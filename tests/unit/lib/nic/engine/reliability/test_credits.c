/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/credits.h"

#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/base/time_units.h"
#include "proto/wire/peer_kind.h"
#include "proto/wire/syndrome.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define CREDITS(code) rnic_syndrome_make(RNIC_SYNDROME_ACK, code)

/* Posts SENDs of one packet; the first has PSN 100. */
static struct engine_fixture *create(uint32_t sends)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	for (uint32_t i = 0; i < sends; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	return fixture;
}

static void test_as_many_leave_as_credits_let(void **state)
{
	struct engine_fixture *fixture = create(1);

	(void)state;
	assert_int_equal(fixture_transmit_all(fixture), 1);
	for (uint32_t i = 0; i < 9; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	fixture_receive_acknowledge(fixture, 100, CREDITS(3));
	assert_int_equal(fixture_transmit_all(fixture), 3);
	/* Of the 4 that have left 2 are acknowledged, and the other 2 use up the credits. */
	fixture_receive_acknowledge(fixture, 101, CREDITS(2));
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_receive_acknowledge(fixture, 101, CREDITS(4));
	assert_int_equal(fixture_transmit_all(fixture), 2);
	/* An older word of less takes nothing back. */
	fixture_receive_acknowledge(fixture, 101, CREDITS(1));
	fixture_receive_acknowledge(fixture, 105, CREDITS(8));
	assert_int_equal(fixture_transmit_all(fixture), 4);
	fixture_destroy(fixture);
}

static void test_counters_wrap(void **state)
{
	struct engine_fixture *fixture = create(6);
	struct credits *credits = &fixture->qp->requester.credits;

	(void)state;
	*credits = (struct credits){
		.acknowledged = UINT32_MAX - 1,
		.started = UINT32_MAX - 1,
		.limit = 1, /* three more */
		.is_known = true,
		.is_limited = true,
	};
	assert_int_equal(fixture_transmit_all(fixture), 3);
	fixture_receive_acknowledge(fixture, 102, CREDITS(1));
	assert_int_equal(credits->acknowledged, 1);
	assert_int_equal(credits->limit, 2);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_destroy(fixture);
}

/* Packets sent beyond the limit before the limit was known go again within the limit. */
static void test_rewind_counts_again(void **state)
{
	struct engine_fixture *fixture = create(5);

	(void)state;
	assert_int_equal(fixture_transmit_all(fixture), 5);
	fixture_receive_acknowledge(fixture, 100, CREDITS(2));
	fixture_receive_acknowledge(
		fixture, 101, rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_PSN_SEQUENCE_ERROR));
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_receive_acknowledge(fixture, 101, CREDITS(1));
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_destroy(fixture);
}

/* Local operations and WRITEs need no credit, but wait behind requests that do. */
static void test_only_receives_count(void **state)
{
	struct engine_fixture *fixture = create(1);

	(void)state;
	fixture_transmit_all(fixture);
	fixture_receive_acknowledge(fixture, 100, CREDITS(0));
	for (uint32_t i = 0; i < 4; i++)
		fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, i, 8);
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 4, 8);
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE_WITH_IMM, 5, 8);
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 6, 8);
	assert_int_equal(fixture_transmit_all(fixture), 5);
	fixture_destroy(fixture);
}

/* As ConnectX did for WRITEs, whatever was posted: messages do not wait a millisecond each. */
static void test_a_peer_that_always_says_none(void **state)
{
	struct engine_fixture *fixture = create(0);
	const uint64_t start_ns = fixture->now_ns;
	uint32_t psn = 100;

	(void)state;
	for (uint32_t i = 0; i < 520; i++) {
		fixture_post_simple(fixture, i < 20 ? RNIC_WR_RDMA_WRITE : RNIC_WR_SEND, i, 8);
		if (fixture_transmit_all(fixture) == 0) {
			fixture->now_ns = engine_next_deadline_ns(&fixture->engine);
			engine_tick(&fixture->engine, fixture->now_ns);
			assert_int_equal(fixture_transmit_all(fixture), 1);
		}
		fixture->now_ns += 20000;
		fixture_receive_acknowledge(fixture, psn++, CREDITS(0));
		assert_int_equal(fixture->completion_count, i + 1);
	}
	assert_true(fixture->now_ns - start_ns < 520 * 20000 + 4 * RNIC_NS_PER_MS);
	fixture_destroy(fixture);
}

/* A QP that waits for a credit waits for nothing when it is in error or reset. */
static void test_the_wait_ends_with_the_qp(void **state)
{
	static const enum rnic_qp_state states[] = {RNIC_QP_STATE_ERR, RNIC_QP_STATE_RESET};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct engine_fixture *fixture = create(1);
		const struct rnic_qp_attributes attributes = {.state = (uint8_t)states[i]};
		char text[80];

		fixture_transmit_all(fixture);
		fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
		fixture_receive_acknowledge(fixture, 100, CREDITS(0));
		assert_int_equal(fixture_transmit_all(fixture), 0);
		assert_true(fixture->qp->retry.running == RETRY_TIMER_CREDIT);
		assert_string_equal(
			qp_waiting_for(fixture->qp, fixture->now_ns, text, sizeof(text)),
			"a receive to be posted by the peer (no credit)");
		assert_int_equal(qp_modify(fixture->qp, &attributes, RNIC_QP_ATTR_STATE), 0);
		assert_true(engine_next_deadline_ns(&fixture->engine) == UINT64_MAX);
		fixture_destroy(fixture);
	}
}

/* The fixture's sink cannot tell of receives. */
static void test_no_credits_without_a_ring(void **state)
{
	struct engine_fixture *fixture = create(0);

	(void)state;
	assert_int_equal(credits_syndrome(&fixture->engine, fixture->qp),
			 CREDITS(RNIC_CREDITS_NOT_CARRIED));
	fixture_destroy(fixture);
}

/* --- exact credits ---------------------------------------------------------------------------- */

/* As many SENDs are under way, from PSN 101 on, as the code for 8 receives lets; others wait. */
static struct engine_fixture *create_held_back(enum rnic_peer_kind kind, uint64_t round_trip_ns)
{
	struct engine_fixture *fixture = create(1);

	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture->now_ns += round_trip_ns;
	fixture_receive_acknowledge(fixture, 100, CREDITS(6));
	fixture->qp->peer_kind = (uint8_t)kind;
	for (uint32_t i = 0; i < 40; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	assert_int_equal(fixture_transmit_all(fixture), 8);
	fixture->now_ns += RNIC_NS_PER_MS;
	return fixture;
}

static bool asks_for_credits(struct engine_fixture *fixture, uint32_t psn)
{
	bool asks = false;

	fixture_receive_acknowledge(fixture, psn, CREDITS(0));
	while (fixture_transmit(fixture)) {
		assert_int_equal(fixture->sent.packet.opcode, 0xc0);
		assert_int_equal(fixture->payload[0], 2);
		asks = true;
	}
	return asks;
}

static void receive_number(struct engine_fixture *fixture, uint32_t psn, uint8_t number,
			   uint32_t bytes)
{
	const uint8_t payload[5] = {3, 0, 0, 0, number};
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, psn);

	packet.opcode = 0xc0;
	packet.row = rnic_opcode_row(0xc0);
	packet.payload = payload;
	packet.payload_bytes = bytes;
	fixture_receive(fixture, &packet);
}

static void test_who_is_asked_for_the_number(void **state)
{
	(void)state;
	for (uint8_t kind = RNIC_PEER_KIND_UNKNOWN; kind <= RNIC_PEER_KIND_OTHER; kind++) {
		struct engine_fixture *fixture = create_held_back(kind, RNIC_NS_PER_MS);

		assert_int_equal(asks_for_credits(fixture, 101), kind == RNIC_PEER_KIND_RNICD);
		fixture_destroy(fixture);
		fixture = create_held_back(kind, 50000);
		assert_false(asks_for_credits(fixture, 101));
		fixture_destroy(fixture);
	}
}

static void test_the_question_is_repeated(void **state)
{
	struct engine_fixture *fixture = create_held_back(RNIC_PEER_KIND_RNICD, RNIC_NS_PER_MS);

	(void)state;
	assert_true(asks_for_credits(fixture, 101));
	assert_false(asks_for_credits(fixture, 102));
	fixture->now_ns += LIMIT_CREDITS_ASK_NS;
	fixture_receive_acknowledge(fixture, 108, CREDITS(6));
	assert_int_equal(fixture_transmit_all(fixture), 8);
	assert_true(asks_for_credits(fixture, 109));
	/* Not after an answer. */
	receive_number(fixture, 109, 0, 5);
	fixture->now_ns += LIMIT_CREDITS_ASK_NS;
	assert_false(asks_for_credits(fixture, 110));
	fixture_destroy(fixture);
}

static void test_the_number_lets_more_leave(void **state)
{
	struct engine_fixture *fixture = create_held_back(RNIC_PEER_KIND_RNICD, RNIC_NS_PER_MS);

	(void)state;
	assert_true(asks_for_credits(fixture, 101));
	/* 104 is not acknowledged: 11 receives behind 104 are 11 behind 101, and maybe more. */
	receive_number(fixture, 104, 11, 5);
	assert_int_equal(fixture_transmit_all(fixture), 4);
	receive_number(fixture, 101, 12, 5);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	/* One that is too short, one of less, and one from before the last ACK. */
	receive_number(fixture, 101, 15, 4);
	receive_number(fixture, 101, 5, 5);
	receive_number(fixture, 100, 15, 5);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	/* A peer that sends no credits, by its code, sets no limit by a number. */
	fixture_receive_acknowledge(fixture, 102, CREDITS(RNIC_CREDITS_NOT_CARRIED));
	receive_number(fixture, 102, 0, 5);
	assert_int_equal(fixture_transmit_all(fixture), 40 - 8 - 4 - 1);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_many_leave_as_credits_let),
		cmocka_unit_test(test_counters_wrap),
		cmocka_unit_test(test_rewind_counts_again),
		cmocka_unit_test(test_only_receives_count),
		cmocka_unit_test(test_a_peer_that_always_says_none),
		cmocka_unit_test(test_the_wait_ends_with_the_qp),
		cmocka_unit_test(test_no_credits_without_a_ring),
		cmocka_unit_test(test_who_is_asked_for_the_number),
		cmocka_unit_test(test_the_question_is_repeated),
		cmocka_unit_test(test_the_number_lets_more_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
