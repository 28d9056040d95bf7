/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

#include <errno.h>

static void test_asking(void **state)
{
	struct cm_connect connect;
	struct cm_connection *connection;
	struct rnic_cm_message message;
	const struct fixture_event *event;
	struct rnic_ip_cm addresses;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 4);
	connect = fixture_connect_parameters(&fixture);
	connect.port_space = RNIC_PORT_SPACE_UDP;
	connect.qp_type = RNIC_QP_TYPE_UD;
	connect.private_data = (const uint8_t *)"who";
	connect.private_bytes = 3;
	assert_int_equal(cm_connect(fixture.cm, &connect, fixture.now_ns, &connection), 0);
	message = fixture_pull(&fixture, RNIC_CM_SIDR_REQ);
	assert_true(message.sidr_req.service_id == 0x01111c06);
	assert_int_equal(message.sidr_req.pkey, 0xffff);
	assert_int_equal(rnic_ip_cm_decode(&addresses, message.sidr_req.private_data), 0);
	assert_int_equal(addresses.source_port, FIXTURE_PEER_PORT);
	assert_memory_equal(message.sidr_req.private_data + RNIC_IP_CM_BYTES, "who", 4);
	fixture_wait(&fixture, FIXTURE_TRY_NS);
	assert_int_equal(fixture_pull(&fixture, RNIC_CM_SIDR_REQ).sidr_req.request_id,
			 message.sidr_req.request_id);
	message = fixture_about(RNIC_CM_SIDR_REP, message.sidr_req.request_id);
	memcpy(message.sidr_rep.private_data, "me", 2);
	fixture_push(&fixture, &message);
	event = fixture_expect_event(&fixture, CM_EVENT_ESTABLISHED);
	assert_int_equal(event->event.peer.qpn, FIXTURE_PEER_QPN);
	assert_int_equal(event->event.peer.qkey, 0x01234567);
	assert_int_equal(event->event.private_bytes, CM_DATAGRAM_ACCEPT_PRIVATE_BYTES);
	assert_memory_equal(event->private_data, "me", 3);
	fixture_push(&fixture, &message);
	fixture_expect_no_event(&fixture);
	assert_int_equal(cm_disconnect(connection, fixture.now_ns), -ENOTCONN);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_refused(void **state)
{
	struct cm_connection *connection;
	struct rnic_cm_message message;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, STATE_SIDR_SENT, true);
	message = fixture_about(RNIC_CM_SIDR_REP, connection->comm_id);
	message.sidr_rep.status = RNIC_CM_SIDR_UNSUPPORTED;
	fixture_push(&fixture, &message);
	assert_int_equal(fixture_expect_event(&fixture, CM_EVENT_REJECTED)->event.status,
			 RNIC_CM_SIDR_UNSUPPORTED);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_nobody_answers(void **state)
{
	struct cm_connection *connection;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, STATE_SIDR_SENT, true);
	for (int i = 0; i < 3; i++) {
		fixture_wait(&fixture, FIXTURE_TRY_NS);
		fixture_pull(&fixture, RNIC_CM_SIDR_REQ);
	}
	fixture_wait(&fixture, FIXTURE_TRY_NS);
	assert_int_equal(fixture_expect_event(&fixture, CM_EVENT_UNREACHABLE)->event.status,
			 -ETIMEDOUT);
	fixture_expect_silence(&fixture);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

/* A repeated question gets the same answer and makes no second request. */
static void test_answering(void **state)
{
	struct cm_accept accept = {
		.qp = {.qpn = FIXTURE_QPN, .qkey = 0x01234567},
		.private_data = (const uint8_t *)"me",
		.private_bytes = CM_DATAGRAM_ACCEPT_PRIVATE_BYTES + 1,
	};
	struct cm_connection *connection;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, STATE_SIDR_RECEIVED, false);
	assert_int_equal(fixture.events[0].event.private_bytes, CM_DATAGRAM_CONNECT_PRIVATE_BYTES);
	assert_memory_equal(fixture.events[0].private_data, "hello", 6);
	assert_int_equal(cm_accept(connection, &accept, fixture.now_ns), -EINVAL);
	accept.private_bytes = 2;
	assert_int_equal(cm_accept(connection, &accept, fixture.now_ns), 0);
	cm_destroy(connection, fixture.now_ns);
	for (int i = 0; i < 2; i++) {
		struct rnic_cm_message rep = fixture_pull(&fixture, RNIC_CM_SIDR_REP);
		struct rnic_cm_message req = fixture_sidr_req(&fixture);

		assert_int_equal(rep.transaction_id, 1001);
		assert_int_equal(rep.sidr_rep.request_id, FIXTURE_PEER_COMM_ID);
		assert_int_equal(rep.sidr_rep.status, RNIC_CM_SIDR_SUCCESS);
		assert_int_equal(rep.sidr_rep.qpn, FIXTURE_QPN);
		assert_int_equal(rep.sidr_rep.qkey, 0x01234567);
		assert_true(rep.sidr_rep.service_id == 0x01061c06);
		assert_memory_equal(rep.sidr_rep.private_data, "me", 3);
		/* Linux asks again after 4.1 s. */
		fixture_wait(&fixture, 4100 * MS);
		fixture_push(&fixture, &req);
	}
	fixture_wait(&fixture, 5000 * MS);
	assert_null(cm_next_connection(fixture.cm, NULL));
	fixture_fini(&fixture);
}

static void test_rejecting(void **state)
{
	struct cm_connection *connection;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, STATE_SIDR_RECEIVED, false);
	assert_int_equal(cm_reject(connection, 256, NULL, 0, fixture.now_ns), -EINVAL);
	assert_int_equal(cm_reject(connection, RNIC_CM_SIDR_NO_QP, NULL, 0, fixture.now_ns), 0);
	assert_int_equal(fixture_pull(&fixture, RNIC_CM_SIDR_REP).sidr_rep.status,
			 RNIC_CM_SIDR_NO_QP);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

/* Remembered answers leave room for new requests. */
static void test_answering_many(void **state)
{
	struct cm_connection *connection;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 1);
	connection = fixture_reach(&fixture, STATE_SIDR_RECEIVED, false);
	assert_int_equal(cm_reject(connection, RNIC_CM_SIDR_NO_QP, NULL, 0, fixture.now_ns), 0);
	cm_destroy(connection, fixture.now_ns);
	fixture_pull(&fixture, RNIC_CM_SIDR_REP);
	fixture_wait(&fixture, 2 * MS);
	assert_null(cm_next_connection(fixture.cm, NULL));
	fixture_fini(&fixture);
}

static void test_nobody_listens(void **state)
{
	struct rnic_cm_message message;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 4);
	message = fixture_sidr_req(&fixture);
	fixture_push(&fixture, &message);
	message = fixture_pull(&fixture, RNIC_CM_SIDR_REP);
	assert_int_equal(message.sidr_rep.status, RNIC_CM_SIDR_UNSUPPORTED);
	assert_int_equal(message.sidr_rep.request_id, FIXTURE_PEER_COMM_ID);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asking),	       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_nobody_answers), cmocka_unit_test(test_answering),
		cmocka_unit_test(test_rejecting),      cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test(test_answering_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
