/* SPDX-License-Identifier: MIT */

#include "lib/nic/engine/reliability/holes.h"

#include "lib/nic/engine/qp_state.h"
#include "proto/wire/peer_kind.h"
#include "proto/wire/syndrome.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define ACK_SYNDROME rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED)
#define SEQUENCE_NAK rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_PSN_SEQUENCE_ERROR)
#define MS	     UINT64_C(1000000)

struct told {
	uint32_t start;
	uint32_t packets;
};

/* Hands the engine a packet of holes; `kind` 0 is an offer, 1 a report. */
static void receive_holes(struct engine_fixture *fixture, uint8_t kind, const struct told *told,
			  uint8_t count, uint32_t bytes)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, 100);
	uint8_t payload[256] = {kind, count};

	for (uint32_t i = 0; told != NULL && i < count; i++) {
		uint8_t *hole = payload + 2 + 6 * i;

		hole[0] = (uint8_t)(told[i].start >> 16);
		hole[1] = (uint8_t)(told[i].start >> 8);
		hole[2] = (uint8_t)told[i].start;
		hole[3] = (uint8_t)(told[i].packets >> 16);
		hole[4] = (uint8_t)(told[i].packets >> 8);
		hole[5] = (uint8_t)told[i].packets;
	}
	packet.opcode = 0xc0;
	packet.row = rnic_opcode_row(0xc0);
	packet.payload = payload;
	packet.payload_bytes = bytes;
	fixture_receive(fixture, &packet);
}

static void receive_report(struct engine_fixture *fixture, const struct told *told, uint8_t count)
{
	receive_holes(fixture, 1, told, count, 2 + 6u * count);
}

static void receive_write(struct engine_fixture *fixture, uint32_t psn, bool ack_request)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, psn);

	packet.reth.rkey = fixture->mr.key;
	packet.reth.address = FIXTURE_IOVA;
	packet.ack_request = ack_request;
	fixture_receive(fixture, &packet);
}

/* Takes a packet out, which is of holes: its bytes are in fixture->payload. */
static void assert_holes_sent(struct engine_fixture *fixture, uint8_t kind, uint8_t count)
{
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.opcode, 0xc0);
	assert_int_equal(fixture->payload[0], kind);
	assert_int_equal(fixture->payload[1], count);
}

static void assert_hole(const struct engine_fixture *fixture, uint32_t i, uint32_t start,
			uint32_t packets)
{
	const uint8_t *hole = fixture->payload + 2 + 6 * i;

	assert_int_equal(hole[0] << 16 | hole[1] << 8 | hole[2], start);
	assert_int_equal(hole[3] << 16 | hole[4] << 8 | hole[5], packets);
}

/* --- the responder ---------------------------------------------------------------------------- */

static void test_nothing_is_told_unasked(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	receive_write(fixture, 101, true);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.row->operation, RNIC_OPERATION_ACKNOWLEDGE);
	receive_write(fixture, 103, true);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_destroy(fixture);
}

static void test_an_offer_is_answered(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	/* Without a gap there is nothing to tell. */
	receive_holes(fixture, 0, NULL, 0, 2);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	receive_write(fixture, 103, false);
	assert_holes_sent(fixture, 1, 1);
	assert_hole(fixture, 0, 100, 3);
	assert_int_equal(fixture_transmit_all(fixture), 1);

	/* Soon after, nothing is repeated; then the state is, whatever was told before. */
	receive_write(fixture, 105, true);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture->now_ns += LIMIT_HOLES_NS;
	receive_write(fixture, 106, true);
	assert_holes_sent(fixture, 1, 2);
	assert_hole(fixture, 0, 100, 3);
	assert_hole(fixture, 1, 104, 1);
	fixture_destroy(fixture);
}

/*
 * Where nothing is kept a report would only repeat the sequence NAK, and the requester would take
 * the peer for one that keeps packets: it sends again what is told, once in two round trips.
 */
static void test_who_keeps_nothing_tells_nothing(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture->engine.kept.slot_count = 0;
	receive_holes(fixture, 0, NULL, 0, 2);
	receive_write(fixture, 103, true);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.row->operation, RNIC_OPERATION_ACKNOWLEDGE);
	fixture->engine.kept.slot_count = 64;
	fixture_destroy(fixture);
}

/* Of many holes, the first and the last are told. */
static void test_first_and_last_holes(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		receive_write(fixture, 101 + 2 * i, false);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	receive_holes(fixture, 0, NULL, 0, 2);
	assert_holes_sent(fixture, 1, HOLES_MAX);
	for (uint32_t i = 0; i < HOLES_MAX / 2; i++) {
		assert_hole(fixture, i, 100 + 2 * i, 1);
		assert_hole(fixture, HOLES_MAX - 1 - i, 138 - 2 * i, 1);
	}
	fixture_destroy(fixture);
}

/* --- the requester ---------------------------------------------------------------------------- */

/* Forty SENDs are under way from PSN 100 on, and the path's round trip is a millisecond. */
static struct engine_fixture *create_sender(void)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;

	options.timeout = 18; /* 1 s: longer than the share of a silent peer */
	fixture = fixture_create(&options);

	fixture_post_simple(fixture, RNIC_WR_SEND, 0, 8);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture->now_ns += MS;
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	fixture->qp->peer_kind = RNIC_PEER_KIND_RNICD;
	for (uint32_t i = 1; i <= 40; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	assert_int_equal(fixture_transmit_all(fixture), 40);
	fixture->now_ns += MS;
	return fixture;
}

static void test_an_offer_goes_with_a_repair(void **state)
{
	struct engine_fixture *fixture = create_sender();

	(void)state;
	fixture_receive_acknowledge(fixture, 110, SEQUENCE_NAK);
	assert_holes_sent(fixture, 0, 0);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 110);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_destroy(fixture);

	/* Not to others. */
	for (uint8_t kind = RNIC_PEER_KIND_UNKNOWN; kind <= RNIC_PEER_KIND_OTHER; kind++) {
		if (kind == RNIC_PEER_KIND_RNICD)
			continue;
		fixture = create_sender();
		fixture->qp->peer_kind = kind;
		fixture_receive_acknowledge(fixture, 110, SEQUENCE_NAK);
		assert_int_equal(fixture_transmit_all(fixture), 1);
		assert_int_equal(fixture->sent.packet.psn.value, 110);
		fixture_destroy(fixture);
	}
}

static void test_what_is_told_is_sent_once(void **state)
{
	const struct told told[] = {{110, 1}, {115, 2}, {130, 1}};
	struct engine_fixture *fixture = create_sender();

	(void)state;
	fixture_receive_acknowledge(fixture, 110, SEQUENCE_NAK);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	receive_report(fixture, told, 3);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 115);
	assert_false(fixture->sent.packet.ack_request);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	assert_int_equal(fixture->sent.packet.psn.value, 130);
	assert_true(fixture->sent.packet.ack_request);

	/* The same again says nothing new, until a round trip is over. */
	receive_report(fixture, told, 3);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture->now_ns += 3 * MS;
	receive_report(fixture, told, 3);
	fixture_transmit_all(fixture);
	fixture->now_ns += 2 * MS;
	fixture_receive_acknowledge(fixture, 114, ACK_SYNDROME);
	receive_report(fixture, told + 1, 1);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	assert_int_equal(fixture->sent.packet.psn.value, 116);
	fixture_receive_acknowledge(fixture, 140, ACK_SYNDROME);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_destroy(fixture);
}

/*
 * The repair and the tail probes are lost, and the share is given back. A report after that is the
 * peer's only word: the NAK does not come again. All is sent again, once.
 */
static void test_a_report_ends_a_silence(void **state)
{
	const struct told told[] = {{110, 1}};
	struct engine_fixture *fixture = create_sender();

	(void)state;
	fixture_receive_acknowledge(fixture, 110, SEQUENCE_NAK);
	receive_report(fixture, told, 1);
	while (!fixture->qp->retry.is_silent) {
		fixture_transmit_all(fixture);
		fixture_tick(fixture, MS);
	}
	assert_int_equal(fixture_transmit_all(fixture), 0);
	receive_report(fixture, told, 1);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(fixture->sent.packet.psn.value, 110);
	fixture_transmit_all(fixture);
	receive_report(fixture, told, 1);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_receive_acknowledge(fixture, 140, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 41);
	fixture_destroy(fixture);
}

/* A repair that is lost each time ends in an ACK timeout, as any packet does. */
static void test_repairs_do_not_go_on_for_ever(void **state)
{
	const struct told told[] = {{110, 1}};
	struct engine_fixture *fixture = create_sender();
	uint64_t start_ns;

	(void)state;
	fixture_receive_acknowledge(fixture, 110, SEQUENCE_NAK);
	start_ns = fixture->now_ns;
	while (fixture->qp->state != RNIC_QP_STATE_ERR) {
		fixture_transmit_all(fixture);
		fixture_tick(fixture, MS);
		if (fixture->qp->state != RNIC_QP_STATE_ERR)
			receive_report(fixture, told, 1);
		assert_true(fixture->now_ns - start_ns < 60000 * MS);
	}
	assert_int_equal(fixture->completions[10].status, RNIC_WC_RETRY_EXC_ERR);
	fixture_destroy(fixture);
}

/* What is not under way is not sent, and a packet that is no report is passed over. */
static void test_wrong_reports(void **state)
{
	const struct told outside[] = {{50, 51}, {0x8000ff, 3}, {141, 9}};
	const struct told beyond[] = {{139, 0xffffff}};
	const struct told inside[] = {{120, 1}};
	struct engine_fixture *fixture = create_sender();

	(void)state;
	receive_report(fixture, outside, 3);
	receive_holes(fixture, 1, inside, 1, 7);
	receive_holes(fixture, 1, NULL, 9, 2 + 6 * 9);
	receive_holes(fixture, 2, inside, 1, 8);
	receive_holes(fixture, 1, NULL, 0, 0);
	receive_report(fixture, beyond, 1);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_receive_acknowledge(fixture, 140, ACK_SYNDROME);
	receive_report(fixture, inside, 1);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_int_equal(fixture->completion_count, 41);
	fixture_destroy(fixture);
}

/* Single holes leave the window as it is; many near each other are an overflow. */
static void test_overflow(void **state)
{
	const struct told single[] = {{105, 1}, {125, 2}};
	const struct told dense[] = {{130, 1}, {133, 1}, {136, 1}, {139, 1}};
	struct engine_fixture *fixture = create_sender();
	uint32_t window = fixture->qp->peer_window->queue_bytes;

	(void)state;
	receive_report(fixture, single, 2);
	assert_int_equal(fixture_transmit_all(fixture), 3);
	assert_int_equal(fixture->qp->peer_window->queue_bytes, window);
	receive_report(fixture, dense, 4);
	assert_int_equal(fixture_transmit_all(fixture), 4);
	assert_int_equal(fixture->qp->peer_window->queue_bytes, window / 2);
	fixture_destroy(fixture);
}

/*
 * A repair is lost, and nothing else is under way that a report could follow but a tail probe,
 * later than a round trip: what is told then is sent again at once.
 */
static void test_told_after_a_pause(void **state)
{
	const struct told told[] = {{110, 1}, {120, 1}};
	struct engine_fixture *fixture = create_sender();

	(void)state;
	fixture_receive_acknowledge(fixture, 110, SEQUENCE_NAK);
	assert_int_equal(fixture_transmit_all(fixture), 2); /* with an offer */
	receive_report(fixture, told, 2);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	for (uint32_t i = 0; i < 3; i++) {
		fixture->now_ns += 5 * MS;
		receive_report(fixture, told, 2);
		assert_int_equal(fixture_transmit_all(fixture), 2);
		assert_int_equal(fixture->sent.packet.psn.value, 120);
		receive_report(fixture, told, 2);
		assert_int_equal(fixture_transmit_all(fixture), 0);
	}
	fixture_destroy(fixture);
}

/*
 * A full report that shows an overflow leaves out what lies between its first and last holes: that
 * counts as missing, unless holes behind were told before.
 */
static void test_a_full_report_has_a_middle(void **state)
{
	const struct told full[] = {{104, 1}, {106, 1}, {108, 1}, {110, 1},
				    {120, 1}, {122, 1}, {124, 1}, {126, 1}};
	struct engine_fixture *fixture = create_sender();

	(void)state;
	receive_report(fixture, full, 8);
	assert_int_equal(fixture_transmit_all(fixture), 3 + 11 + 3);
	assert_int_equal(fixture->sent.packet.psn.value, 126);
	receive_report(fixture, full, 8);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_told_unasked),
		cmocka_unit_test(test_an_offer_is_answered),
		cmocka_unit_test(test_who_keeps_nothing_tells_nothing),
		cmocka_unit_test(test_first_and_last_holes),
		cmocka_unit_test(test_an_offer_goes_with_a_repair),
		cmocka_unit_test(test_what_is_told_is_sent_once),
		cmocka_unit_test(test_a_report_ends_a_silence),
		cmocka_unit_test(test_repairs_do_not_go_on_for_ever),
		cmocka_unit_test(test_wrong_reports),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_told_after_a_pause),
		cmocka_unit_test(test_a_full_report_has_a_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
