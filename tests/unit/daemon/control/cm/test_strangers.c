/* SPDX-License-Identifier: MIT */
/*
 * Strangers on the peer's host. They know addresses, identifiers and QPNs, but send from another
 * UDP port than the peer.
 */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

#include "daemon/control/cm/cm_state.h"
#include "proto/wire/packet.h"

#define STRANGER_PORT 40000

static void push_as_stranger(struct cm_fixture *fixture, const struct rnic_cm_message *message)
{
	const uint16_t peer_udp_port = fixture->peer_udp_port;

	fixture->peer_udp_port = STRANGER_PORT;
	fixture_push(fixture, message);
	fixture->peer_udp_port = peer_udp_port;
}

/* A forged DREQ ends neither side's connection; the peer's own DREQ does. */
static void test_end_of_a_connection(void **state)
{
	(void)state;
	for (int is_active = 0; is_active < 2; is_active++) {
		struct cm_fixture fixture;
		struct cm_connection *connection;
		struct rnic_cm_message dreq;

		fixture_init(&fixture, 4);
		connection = fixture_reach(&fixture, STATE_ESTABLISHED, is_active);
		fixture_wait(&fixture, 4 * FIXTURE_TRY_NS);
		while (cm_has_ready(fixture.cm))
			fixture_pull(&fixture, RNIC_CM_RTU);
		dreq = fixture_about(RNIC_CM_DREQ, connection->comm_id);
		push_as_stranger(&fixture, &dreq);
		fixture_expect_silence(&fixture);
		fixture_expect_no_event(&fixture);
		assert_int_equal(connection->state, STATE_ESTABLISHED);
		assert_int_equal(fixture.cm->counters[CM_COUNTER_BAD_PORT], 1);
		assert_int_equal(fixture.strange_port_count, 1);
		assert_int_equal(fixture.strange_port.port, STRANGER_PORT);
		assert_int_equal(fixture.strange_port.wanted, fixture.peer_udp_port);
		fixture_push(&fixture, &dreq);
		fixture_expect_event(&fixture, CM_EVENT_DISCONNECTED);
		fixture_pull(&fixture, RNIC_CM_DREP);
		cm_destroy(connection, fixture.now_ns);
		fixture_fini(&fixture);
	}
}

/*
 * What ends a living connection must name all of its numbers, from whatever port it comes. Hardware
 * sends a DREP and a REJ from another port than its requests.
 */
static const struct {
	enum connection_state state;
	enum rnic_cm_kind kind;
	uint32_t peer_comm_id; /* 0: as in a REJ of a peer without a connection */
	uint32_t comm_id_error;
	uint32_t qpn;
	bool is_from_peer_port;
	bool ends;
} claims[] = {
	{STATE_ESTABLISHED, RNIC_CM_REJ, FIXTURE_PEER_COMM_ID, 0, 0, false, true},
	{STATE_ESTABLISHED, RNIC_CM_REJ, FIXTURE_PEER_COMM_ID, 0, 0, true, true},
	{STATE_ESTABLISHED, RNIC_CM_REJ, FIXTURE_PEER_COMM_ID + 1, 0, 0, true, false},
	{STATE_ESTABLISHED, RNIC_CM_REJ, 0, 0, 0, true, false},
	{STATE_ESTABLISHED, RNIC_CM_REJ, 0, 0, 0, false, false},
	{STATE_ESTABLISHED, RNIC_CM_REJ, FIXTURE_PEER_COMM_ID, UINT32_MAX, 0, true, false},
	{STATE_ESTABLISHED, RNIC_CM_DREQ, FIXTURE_PEER_COMM_ID, 0, FIXTURE_QPN, true, true},
	{STATE_ESTABLISHED, RNIC_CM_DREQ, FIXTURE_PEER_COMM_ID, 0, FIXTURE_QPN + 1, true, false},
	{STATE_ESTABLISHED, RNIC_CM_DREQ, FIXTURE_PEER_COMM_ID + 1, 0, FIXTURE_QPN, true, false},
	{STATE_ESTABLISHED, RNIC_CM_DREP, FIXTURE_PEER_COMM_ID, 0, 0, true, false},
	{STATE_DREQ_SENT, RNIC_CM_DREP, FIXTURE_PEER_COMM_ID, 0, 0, false, true},
	{STATE_DREQ_SENT, RNIC_CM_DREP, FIXTURE_PEER_COMM_ID + 1, 0, 0, true, false},
	{STATE_DREQ_SENT, RNIC_CM_REJ, FIXTURE_PEER_COMM_ID, 0, 0, false, true},
	{STATE_DREQ_SENT, RNIC_CM_REJ, 0, 0, 0, true, false},
};

static void check_claim(size_t row, bool is_active)
{
	struct cm_connection *connection;
	struct rnic_cm_message message;
	struct cm_fixture fixture;
	uint64_t dropped;

	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, claims[row].state, is_active);
	message = fixture_about(claims[row].kind, connection->comm_id);
	message.rtu.local_comm_id = claims[row].peer_comm_id;
	/* UINT32_MAX: our identifier is not stated, and the peer's names the connection. */
	if (claims[row].comm_id_error == UINT32_MAX)
		message.rtu.remote_comm_id = 0;
	if (claims[row].kind == RNIC_CM_DREQ)
		message.dreq.remote_qpn = claims[row].qpn;
	if (claims[row].is_from_peer_port)
		fixture_push(&fixture, &message);
	else
		push_as_stranger(&fixture, &message);
	if (claims[row].ends)
		fixture_expect_event(&fixture, CM_EVENT_DISCONNECTED);
	else
		assert_int_equal(connection->state, claims[row].state);
	dropped = fixture.cm->counters[CM_COUNTER_UNPROVEN] +
		  fixture.cm->counters[CM_COUNTER_UNEXPECTED];
	assert_int_equal(dropped, !claims[row].ends);
	assert_int_equal(fixture.strange_port_count, 0);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_claims(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(claims); i++) {
		check_claim(i, false);
		check_claim(i, true);
	}
}

/* Some hardware repeats its RTU from another port. */
static void test_repeated_rtu(void **state)
{
	struct cm_connection *connection;
	struct cm_fixture fixture;
	struct rnic_cm_message rtu;

	(void)state;
	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, STATE_REP_SENT, false);
	rtu = fixture_about(RNIC_CM_RTU, connection->comm_id);
	push_as_stranger(&fixture, &rtu);
	fixture_expect_event(&fixture, CM_EVENT_ESTABLISHED);
	assert_int_equal(fixture.strange_port_count, 0);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_any_port(void **state)
{
	struct cm_connection *connection;
	struct cm_fixture fixture;
	struct rnic_cm_message dreq;

	(void)state;
	fixture_init(&fixture, 4);
	fixture.cm->config.peer_ports = RNIC_PEER_PORTS_ANY;
	connection = fixture_reach(&fixture, STATE_ESTABLISHED, false);
	dreq = fixture_about(RNIC_CM_DREQ, connection->comm_id);
	push_as_stranger(&fixture, &dreq);
	fixture_expect_event(&fixture, CM_EVENT_DISCONNECTED);
	assert_int_equal(fixture.strange_port_count, 0);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

/* Where only an rnicd may be the peer, no other program's request is looked at. */
static void test_ports_of_rnicd(void **state)
{
	struct cm_connection *connection;
	struct cm_binding *binding;
	struct cm_fixture fixture;
	struct rnic_cm_message req;

	(void)state;
	fixture_init(&fixture, 4);
	fixture.cm->config.peer_ports = RNIC_PEER_PORTS_RNICD;
	binding = fixture_listen(&fixture, 0);
	req = fixture_req(&fixture);
	push_as_stranger(&fixture, &req);
	fixture_expect_no_event(&fixture);
	fixture_expect_silence(&fixture);
	assert_int_equal(fixture.strange_port_count, 1);
	assert_int_equal(fixture.cm->counters[CM_COUNTER_BAD_PORT], 1);
	fixture.peer_udp_port =
		rnic_lane_send_port(RNIC_GENERAL_SERVICES_QPN, RNIC_GENERAL_SERVICES_QPN);
	fixture_push(&fixture, &req);
	connection = fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST)->event.connection;
	cm_destroy(connection, fixture.now_ns);
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_of_a_connection), cmocka_unit_test(test_claims),
		cmocka_unit_test(test_repeated_rtu),	    cmocka_unit_test(test_any_port),
		cmocka_unit_test(test_ports_of_rnicd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
