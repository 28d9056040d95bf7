/* SPDX-License-Identifier: MIT */
/*
 * A program that has seen a message ends its queue pair at once, in each way that there is, and the
 * peer gets the acknowledgement all the same: one that was to leave, one for several messages, one
 * that waited for an answer, one behind the answer to a READ.
 */
#include "lib/nic/engine/reliability/parting.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#include <errno.h>

#define PSN	     100
#define READ_PACKETS 3
#define QUICK_NS     (LIMIT_ACK_WAIT_NS / 4)

/* How a queue pair ends. */
static void modify_to(struct engine_fixture *fixture, enum rnic_qp_state state)
{
	const struct rnic_qp_attributes attributes = {.state = (uint8_t)state};

	assert_int_equal(qp_modify(fixture->qp, &attributes, RNIC_QP_ATTR_STATE), 0);
}

static void fall_into_error(struct engine_fixture *fixture)
{
	modify_to(fixture, RNIC_QP_STATE_ERR);
}

static void reset(struct engine_fixture *fixture)
{
	modify_to(fixture, RNIC_QP_STATE_RESET);
}

static void reset_behind_error(struct engine_fixture *fixture)
{
	fall_into_error(fixture);
	reset(fixture);
}

static void destroy(struct engine_fixture *fixture)
{
	qp_destroy(fixture->qp);
	fixture->qp = fixture_create_qp(fixture, &fixture_defaults);
}

static void destroy_behind_error(struct engine_fixture *fixture)
{
	fall_into_error(fixture);
	destroy(fixture);
}

/* The engine may have turns before what is left of the program is freed. */
static void end_program(struct engine_fixture *fixture)
{
	pd_close(&fixture->pd);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	qp_destroy(fixture->qp);
	fixture->pd.is_closed = false;
	fixture->qp = fixture_create_qp(fixture, &fixture_defaults);
}

static void (*const ends[])(struct engine_fixture *) = {
	fall_into_error, reset, reset_behind_error, destroy, destroy_behind_error, end_program,
};

#define FOR_EACH_END(i) for (unsigned i = 0; i < RNIC_COUNT_OF(ends); i++)

static struct engine_fixture *begin(void)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	fixture_tick(fixture, 1000);
	return fixture;
}

static void receive_message(struct engine_fixture *fixture, uint32_t psn)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, psn);

	packet.ack_request = true;
	fixture_post_receive(fixture, psn, 0, 8);
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completions[fixture->completion_count - 1].wr_id, psn);
	assert_int_equal(fixture->completions[fixture->completion_count - 1].status,
			 RNIC_WC_SUCCESS);
}

static void receive_read(struct engine_fixture *fixture, uint32_t psn)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_READ_REQUEST, RNIC_POSITION_ONLY, psn);

	packet.reth = (struct rnic_reth){FIXTURE_IOVA, fixture->mr.key, READ_PACKETS * 1024};
	fixture_receive(fixture, &packet);
}

static void expect_acknowledgement(struct engine_fixture *fixture, uint32_t psn, uint32_t msn)
{
	const struct rnic_packet *packet = &fixture->sent.packet;

	assert_true(fixture_transmit(fixture));
	assert_int_equal(packet->row->operation, RNIC_OPERATION_ACKNOWLEDGE);
	assert_true(rnic_syndrome_kind(packet->aeth.syndrome) == RNIC_SYNDROME_ACK);
	assert_int_equal(packet->psn.value, psn);
	assert_int_equal(packet->aeth.msn, msn);
	assert_int_equal(packet->dest_qpn, FIXTURE_DEST_QPN);
	assert_memory_equal(&packet->addresses.dest, &fixture->peer_gid, sizeof(struct rnic_gid));
}

static void finish(struct engine_fixture *fixture)
{
	assert_false(fixture_transmit(fixture));
	assert_false(engine_has_ready(&fixture->engine));
	fixture_destroy(fixture);
}

static void an_acknowledgement_that_was_to_leave(void **state)
{
	(void)state;
	FOR_EACH_END(i)
	{
		struct engine_fixture *fixture = begin();

		receive_message(fixture, PSN);
		ends[i](fixture);
		assert_true(engine_has_ready(&fixture->engine));
		expect_acknowledgement(fixture, PSN, 1);
		finish(fixture);
	}
}

static void one_acknowledgement_for_two_messages(void **state)
{
	(void)state;
	FOR_EACH_END(i)
	{
		struct engine_fixture *fixture = begin();

		receive_message(fixture, PSN);
		receive_message(fixture, PSN + 1);
		ends[i](fixture);
		expect_acknowledgement(fixture, PSN + 1, 2);
		finish(fixture);
	}
}

static void play_ping_pong(struct engine_fixture *fixture, uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++) {
		receive_message(fixture, PSN + i);
		expect_acknowledgement(fixture, PSN + i, i + 1);
		fixture_tick(fixture, QUICK_NS);
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
		assert_true(fixture_transmit(fixture));
		fixture_receive_acknowledge(fixture, PSN + i, ACKNOWLEDGEMENT_SYNDROME);
	}
}

static void an_acknowledgement_that_waits(void **state)
{
	(void)state;
	FOR_EACH_END(i)
	{
		struct engine_fixture *fixture = begin();

		play_ping_pong(fixture, LIMIT_ACK_REPLIES);
		receive_message(fixture, PSN + LIMIT_ACK_REPLIES);
		assert_false(fixture_transmit(fixture));
		ends[i](fixture);
		expect_acknowledgement(fixture, PSN + LIMIT_ACK_REPLIES, LIMIT_ACK_REPLIES + 1);
		finish(fixture);
	}
}

static void expect_read_responses(struct engine_fixture *fixture, uint32_t psn)
{
	for (uint32_t i = 0; i < READ_PACKETS; i++) {
		assert_true(fixture_transmit(fixture));
		assert_int_equal(fixture->sent.packet.row->operation, RNIC_OPERATION_READ_RESPONSE);
		assert_int_equal(fixture->sent.packet.psn.value, psn + i);
	}
}

/* In ERR the memory is there, and the peer needs the answer to hear of what came behind. */
static void an_acknowledgement_behind_a_read_in_error(void **state)
{
	struct engine_fixture *fixture = begin();

	(void)state;
	receive_message(fixture, PSN);
	receive_read(fixture, PSN + 1);
	receive_message(fixture, PSN + 1 + READ_PACKETS);
	fall_into_error(fixture);
	expect_read_responses(fixture, PSN + 1);
	expect_acknowledgement(fixture, PSN + 1 + READ_PACKETS, 3);
	finish(fixture);
}

/* Nobody reads memory for a queue pair that is gone: what lies before the READ is acknowledged. */
static void an_acknowledgement_before_a_read(void **state)
{
	(void)state;
	FOR_EACH_END(i)
	{
		struct engine_fixture *fixture = begin();

		if (ends[i] != fall_into_error) {
			receive_message(fixture, PSN);
			receive_read(fixture, PSN + 1);
			receive_message(fixture, PSN + 1 + READ_PACKETS);
			ends[i](fixture);
			expect_acknowledgement(fixture, PSN, 1);
		}
		finish(fixture);
	}
}

/* The READ came behind the message: in ERR nobody waits for its answer. */
static void a_read_behind_the_message_is_not_answered(void **state)
{
	(void)state;
	FOR_EACH_END(i)
	{
		struct engine_fixture *fixture = begin();

		receive_message(fixture, PSN);
		receive_read(fixture, PSN + 1);
		ends[i](fixture);
		expect_acknowledgement(fixture, PSN, 1);
		finish(fixture);
	}
}

/* The key of the READ is gone by then: its refusal stands for what lies before. */
static void a_read_without_a_region_in_error(void **state)
{
	struct engine_fixture *fixture = begin();
	const struct rnic_packet *packet = &fixture->sent.packet;

	(void)state;
	receive_message(fixture, PSN);
	receive_read(fixture, PSN + 1);
	receive_message(fixture, PSN + 1 + READ_PACKETS);
	fall_into_error(fixture);
	mr_deregister(&fixture->engine, &fixture->mr);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(packet->aeth.syndrome,
			 rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_REMOTE_ACCESS_ERROR));
	assert_int_equal(packet->psn.value, PSN + 1);
	finish(fixture);
}

/* The bytes of the READ are gone: what was built behind them is not sent. */
static void a_read_without_bytes_in_error(void **state)
{
	struct engine_fixture *fixture = begin();

	(void)state;
	receive_message(fixture, PSN);
	receive_read(fixture, PSN + 1);
	receive_message(fixture, PSN + 1 + READ_PACKETS);
	fall_into_error(fixture);
	assert_int_equal(fixture_transmit_all(fixture), READ_PACKETS + 1);
	engine_payload_failed(&fixture->engine, fixture->qp, rnic_psn(PSN + 1), true, -EFAULT,
			      fixture->now_ns);
	expect_acknowledgement(fixture, PSN, 3);
	finish(fixture);
}

static void what_was_sent_is_not_sent_again(void **state)
{
	(void)state;
	FOR_EACH_END(i)
	{
		struct engine_fixture *fixture = begin();

		receive_message(fixture, PSN);
		expect_acknowledgement(fixture, PSN, 1);
		ends[i](fixture);
		finish(fixture);
	}
}

static void a_full_room_keeps_the_oldest(void **state)
{
	struct rnic_packet packet = {0};
	struct parting parting;

	(void)state;
	assert_int_equal(parting_init(&parting), 0);
	parting.first = parting.end = UINT32_MAX - 1;
	for (uint32_t i = 0; i < LIMIT_PARTING_PACKETS + 1; i++) {
		packet.psn = rnic_psn(i);
		parting_add(&parting, &packet);
	}
	for (uint32_t i = 0; i < LIMIT_PARTING_PACKETS; i++) {
		parting_take(&parting, &packet);
		assert_int_equal(packet.psn.value, i);
	}
	assert_true(parting_is_empty(&parting));
	parting_fini(&parting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_acknowledgement_that_was_to_leave),
		cmocka_unit_test(one_acknowledgement_for_two_messages),
		cmocka_unit_test(an_acknowledgement_that_waits),
		cmocka_unit_test(an_acknowledgement_behind_a_read_in_error),
		cmocka_unit_test(an_acknowledgement_before_a_read),
		cmocka_unit_test(a_read_behind_the_message_is_not_answered),
		cmocka_unit_test(a_read_without_a_region_in_error),
		cmocka_unit_test(a_read_without_bytes_in_error),
		cmocka_unit_test(what_was_sent_is_not_sent_again),
		cmocka_unit_test(a_full_room_keeps_the_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
