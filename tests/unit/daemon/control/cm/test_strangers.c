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

static void expect_unharmed(struct cm_fixture *fixture, const struct cm_connection *connection,
			    uint32_t forgeries)
{
	fixture_expect_no_event(fixture);
	assert_int_equal(connection->state, STATE_ESTABLISHED);
	assert_int_equal(fixture->cm->counters[CM_COUNTER_BAD_PORT], forgeries);
	assert_int_equal(fixture->strange_port_count, 1);
	assert_int_equal(fixture->strange_port.port, STRANGER_PORT);
	assert_int_equal(fixture->strange_port.wanted, fixture->peer_udp_port);
}

/* A forged DREQ or REJ ends neither side's connection; the peer's own DREQ does. */
static void test_end_of_a_connection(void **state)
{
	(void)state;
	for (int is_active = 0; is_active < 2; is_active++) {
		struct cm_fixture fixture;
		struct cm_connection *connection;
		struct rnic_cm_message dreq, rej;

		fixture_init(&fixture, 4);
		connection = fixture_reach(&fixture, STATE_ESTABLISHED, is_active);
		dreq = fixture_about(RNIC_CM_DREQ, connection->comm_id);
		rej = fixture_about(RNIC_CM_REJ, connection->comm_id);
		push_as_stranger(&fixture, &dreq);
		push_as_stranger(&fixture, &rej);
		fixture_expect_silence(&fixture);
		expect_unharmed(&fixture, connection, 2);
		fixture_push(&fixture, &dreq);
		fixture_expect_event(&fixture, CM_EVENT_DISCONNECTED);
		fixture_pull(&fixture, RNIC_CM_DREP);
		cm_destroy(connection, fixture.now_ns);
		fixture_fini(&fixture);
	}
}

/* A forged REQ that names the peer's QPN is refused, and the connection of that QPN goes on. */
static void test_request_that_names_the_qpn(void **state)
{
	struct cm_connection *connection;
	struct cm_binding *binding;
	struct cm_fixture fixture;
	struct rnic_cm_message req;

	(void)state;
	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, STATE_ESTABLISHED, false);
	binding = fixture_listen(&fixture, 0);
	req = fixture_req(&fixture);
	req.req.local_comm_id++;
	push_as_stranger(&fixture, &req);
	assert_int_equal(fixture_pull(&fixture, RNIC_CM_REJ).rej.reason,
			 RNIC_CM_REJECT_STALE_CONNECTION);
	fixture_expect_silence(&fixture);
	expect_unharmed(&fixture, connection, 1);
	cm_destroy(connection, fixture.now_ns);
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
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
		cmocka_unit_test(test_end_of_a_connection),
		cmocka_unit_test(test_request_that_names_the_qpn),
		cmocka_unit_test(test_repeated_rtu),
		cmocka_unit_test(test_any_port),
		cmocka_unit_test(test_ports_of_rnicd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
