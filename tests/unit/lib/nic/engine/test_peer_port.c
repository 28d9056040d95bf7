/* SPDX-License-Identifier: MIT */
/* Strangers on the peer's host, who know everything but may not have the peer's UDP port. */
#include "proto/base/bits.h"
#include "proto/wire/peer_kind.h"
#include "proto/wire/syndrome.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define PEER_PORT     50000
#define STRANGER_PORT 40000
#define FORGERIES     100
#define ACK_SYNDROME  0x1f

/* A SEND of the peer without payload, from this UDP port. */
static struct rnic_packet send_from(const struct engine_fixture *fixture, uint16_t port,
				    uint32_t psn)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, psn);

	packet.addresses.source_port = port;
	return packet;
}

static void receive_send(struct engine_fixture *fixture, uint16_t port, uint32_t psn)
{
	const struct rnic_packet packet = send_from(fixture, port, psn);

	fixture_post_receive(fixture, psn, 0, 8);
	fixture_receive(fixture, &packet);
}

static uint64_t dropped(const struct engine_fixture *fixture)
{
	return fixture->engine.counters[COUNTER_DROPPED_BAD_PORT];
}

/* Forged requests with the right address, QPN and PSN. */
static void receive_forgeries(struct engine_fixture *fixture, uint32_t psn)
{
	const struct rnic_packet packet = send_from(fixture, STRANGER_PORT, psn);

	for (uint32_t i = 0; i < FORGERIES; i++)
		fixture_receive(fixture, &packet);
}

static void test_a_stranger_is_dropped_and_named(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	char text[256];

	(void)state;
	receive_send(fixture, PEER_PORT, 100);
	fixture_post_receive(fixture, 1, 0, 8);
	receive_forgeries(fixture, 101);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(dropped(fixture), FORGERIES);
	assert_int_equal(fixture->trouble_log, 1);
	qp_last_error_text(fixture->qp, text, sizeof(text));
	assert_string_equal(text, "A packet from UDP port 40000 of the peer, not 50000 as before, "
				  "was dropped: it is forged, or the peer changes ports "
				  "(rnicd --peer-ports any).");
	receive_send(fixture, PEER_PORT, 101);
	assert_int_equal(fixture->completion_count, 2);
	fixture_destroy(fixture);
}

/* Anybody can send a packet with a wrong PSN before the peer sends its first one. */
static void test_a_packet_out_of_place_pins_nothing(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	receive_send(fixture, STRANGER_PORT, 105);
	receive_send(fixture, STRANGER_PORT, 99);
	receive_send(fixture, PEER_PORT, 100);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(dropped(fixture), 0);
	fixture_destroy(fixture);
}

/* What the first packet in its place tells of the peer. */
static void test_what_the_peer_is(void **state)
{
	static const struct {
		uint16_t port; /* 0: that of rnicd for these queue pairs */
		bool migrated;
		enum rnic_peer_kind expected;
	} rows[] = {
		{0, true, RNIC_PEER_KIND_RNICD},     {RNIC_UDP_PORT, true, RNIC_PEER_KIND_RNICD},
		{64079, true, RNIC_PEER_KIND_OTHER}, {69, true, RNIC_PEER_KIND_OTHER},
		{51268, false, RNIC_PEER_KIND_RXE},  {69, false, RNIC_PEER_KIND_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct engine_fixture *fixture = fixture_create(&fixture_defaults);
		struct qp *qp = fixture->qp;
		struct rnic_packet packet = send_from(fixture, rows[i].port, 100);

		if (rows[i].port == 0)
			packet.addresses.source_port =
				rnic_lane_send_port(qp->attributes.dest_qpn, qp->qpn);
		packet.migrated = rows[i].migrated;
		assert_int_equal(qp->peer_kind, RNIC_PEER_KIND_UNKNOWN);
		fixture_post_receive(fixture, 1, 0, 8);
		fixture_receive(fixture, &packet);
		assert_int_equal(qp->peer_kind, rows[i].expected);
		fixture_destroy(fixture);
	}
}

/* A forged answer neither completes a request nor ends the queue pair. */
static void test_answers_come_from_the_port_of_the_first_one(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_packet answer =
		fixture_packet(fixture, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, 100);

	(void)state;
	answer.aeth.syndrome = ACK_SYNDROME;
	answer.addresses.source_port = PEER_PORT;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	fixture_receive(fixture, &answer);
	assert_int_equal(fixture->completion_count, 1);
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 8);
	fixture_transmit_all(fixture);
	answer.psn.value = 101;
	answer.addresses.source_port = STRANGER_PORT;
	answer.aeth.syndrome = rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_INVALID_REQUEST);
	fixture_receive(fixture, &answer);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_RTS);
	assert_int_equal(dropped(fixture), 1);
	fixture_destroy(fixture);
}

static void test_any_port(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture->engine.config.peer_ports = RNIC_PEER_PORTS_ANY;
	receive_send(fixture, PEER_PORT, 100);
	receive_send(fixture, STRANGER_PORT, 101);
	assert_int_equal(fixture->completion_count, 2);
	assert_int_equal(dropped(fixture), 0);
	fixture_destroy(fixture);
}

/* The lane of the peer's QPN gives the port. Nobody holds the RoCEv2 port at all addresses. */
static void test_ports_of_rnicd(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	const uint16_t lane_port = rnic_lane_send_port(FIXTURE_DEST_QPN, fixture->qp->qpn);

	(void)state;
	fixture->engine.config.peer_ports = RNIC_PEER_PORTS_RNICD;
	receive_forgeries(fixture, 100);
	receive_send(fixture, (uint16_t)(lane_port + 1), 100);
	receive_send(fixture, RNIC_UDP_PORT, 100);
	assert_int_equal(fixture->completion_count, 0);
	assert_int_equal(dropped(fixture), FORGERIES + 2);
	receive_send(fixture, lane_port, 100);
	assert_int_equal(fixture->completion_count, 1);
	fixture_destroy(fixture);
}

/*
 * Hardware sends notifications from any port. One that is not the peer's, or comes before the
 * peer's is known, takes the rate to a floor of its own.
 */
static const struct {
	enum rnic_peer_ports rule;
	bool is_port_known;
	uint16_t port;
	bool is_taken, is_proven;
} notifications[] = {
	{RNIC_PEER_PORTS_PINNED, true, PEER_PORT, true, true},
	{RNIC_PEER_PORTS_PINNED, true, 0, true, false},
	{RNIC_PEER_PORTS_PINNED, true, STRANGER_PORT, true, false},
	{RNIC_PEER_PORTS_PINNED, false, STRANGER_PORT, true, false},
	{RNIC_PEER_PORTS_ANY, true, STRANGER_PORT, true, true},
	{RNIC_PEER_PORTS_RNICD, true, STRANGER_PORT, false, false},
};

static void check_notification(size_t row)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct engine *engine = &fixture->engine;
	const uint64_t floor_rate = engine->config.line_rate / LIMIT_CC_UNPROVEN_DIVISOR;
	const bool is_taken = notifications[row].is_taken;
	const int opcode = rnic_opcode_find(RNIC_SERVICE_CNP, RNIC_OPERATION_CONGESTION,
					    RNIC_POSITION_ONLY, 0);
	struct rnic_packet packet = send_from(fixture, notifications[row].port, 0);
	uint64_t received;

	if (notifications[row].is_port_known)
		receive_send(fixture, PEER_PORT, 100);
	received = fixture->qp->counters.received_packets;
	engine->config.peer_ports = notifications[row].rule;
	engine->config.has_ecn = true;
	packet.opcode = (uint8_t)opcode;
	packet.row = rnic_opcode_row(packet.opcode);
	for (uint32_t i = 0; i < FORGERIES; i++)
		fixture_receive(fixture, &packet);
	assert_int_equal(engine->counters[COUNTER_CNPS_RECEIVED], is_taken * FORGERIES);
	assert_int_equal(engine->counters[COUNTER_CNPS_OTHER_PORT],
			 (is_taken && !notifications[row].is_proven) * FORGERIES);
	assert_int_equal(dropped(fixture), is_taken ? 0 : FORGERIES);
	assert_int_equal(fixture->trouble_log, is_taken ? 0 : 1);
	if (is_taken)
		assert_int_equal(fixture->qp->congestion.rate.rate,
				 notifications[row].is_proven ? LIMIT_CC_LEAST_RATE : floor_rate);
	/* A notification is no sign of the peer's life, and tells no port. */
	assert_int_equal(fixture->qp->counters.received_packets, received);
	assert_int_equal(fixture->qp->peer_port, notifications[row].is_port_known ? PEER_PORT : 0);
	fixture_destroy(fixture);
}

static void test_notifications(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(notifications); i++)
		check_notification(i);
}

/* The next connection of a queue pair has another peer, or the same one with another port. */
static void test_rtr_forgets_the_port(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_RESET};
	const uint32_t to_init = RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT |
				 RNIC_QP_ATTR_ACCESS_FLAGS;
	const uint32_t to_rtr = RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU |
				RNIC_QP_ATTR_DEST_QPN | RNIC_QP_ATTR_RQ_PSN |
				RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER;

	(void)state;
	receive_send(fixture, PEER_PORT, 100);
	attributes = fixture->qp->attributes;
	attributes.rq_psn = 100;
	attributes.state = RNIC_QP_STATE_RESET;
	assert_int_equal(qp_modify(fixture->qp, &attributes, RNIC_QP_ATTR_STATE), 0);
	attributes.state = RNIC_QP_STATE_INIT;
	assert_int_equal(qp_modify(fixture->qp, &attributes, to_init), 0);
	attributes.state = RNIC_QP_STATE_RTR;
	assert_int_equal(qp_modify(fixture->qp, &attributes, to_rtr), 0);
	receive_send(fixture, STRANGER_PORT, 100);
	assert_int_equal(fixture->completion_count, 2);
	assert_int_equal(dropped(fixture), 0);
	fixture_destroy(fixture);
}

/* A datagram queue pair has many peers. */
static void test_datagrams_are_not_pinned(void **state)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;

	(void)state;
	options.type = RNIC_QP_TYPE_UD;
	fixture = fixture_create(&options);
	for (uint16_t i = 0; i < 2; i++) {
		struct rnic_packet packet =
			send_from(fixture, i == 0 ? PEER_PORT : STRANGER_PORT, 100);

		packet.qkey = FIXTURE_QKEY;
		fixture_post_receive(fixture, i, 0, 64);
		fixture_receive(fixture, &packet);
	}
	assert_int_equal(fixture->completion_count, 2);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stranger_is_dropped_and_named),
		cmocka_unit_test(test_a_packet_out_of_place_pins_nothing),
		cmocka_unit_test(test_what_the_peer_is),
		cmocka_unit_test(test_answers_come_from_the_port_of_the_first_one),
		cmocka_unit_test(test_any_port),
		cmocka_unit_test(test_ports_of_rnicd),
		cmocka_unit_test(test_notifications),
		cmocka_unit_test(test_rtr_forgets_the_port),
		cmocka_unit_test(test_datagrams_are_not_pinned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
