/* SPDX-License-Identifier: MIT */
/* Requests of strangers: the manager refuses them with a reason, forgets them, or offers them. */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

static void test_what_the_holder_learns(void **state)
{
	struct cm_fixture fixture;
	struct cm_binding *binding;
	struct rnic_cm_message req;
	const struct fixture_event *event;
	struct cm_connection_info info;

	(void)state;
	fixture_init(&fixture, 4);
	binding = fixture_listen(&fixture, 0);
	req = fixture_req(&fixture);
	fixture_push(&fixture, &req);
	event = fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(event->event.binding, binding);
	assert_ptr_equal(event->event.user, &fixture);
	assert_int_equal(event->event.private_bytes, CM_CONNECT_PRIVATE_BYTES);
	assert_memory_equal(event->private_data, "hello", 6);
	assert_int_equal(event->event.peer.qpn, FIXTURE_PEER_QPN);
	assert_int_equal(event->event.peer.psn, 0x123456);
	assert_int_equal(event->event.peer.responder_resources, 4);
	assert_int_equal(event->event.peer.initiator_depth, 3);
	assert_int_equal(event->event.peer.retry_count, 6);
	assert_int_equal(event->event.peer.rnr_retry_count, 5);
	cm_describe(event->event.connection, &info);
	assert_int_equal(info.peer.port, FIXTURE_PEER_PORT);
	assert_int_equal(info.path.mtu, 3);
	assert_int_equal(info.path.packet_lifetime, CM_DEFAULT_PACKET_LIFETIME);
	cm_destroy(event->event.connection, fixture.now_ns);
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
}

/* One refusal: the fault in the request, and the answer to its sender. */
static void expect_refusal(void (*spoil)(struct rnic_cm_req *), bool is_listening, uint16_t reason)
{
	struct cm_binding *binding = NULL;
	struct rnic_cm_message message;
	struct cm_fixture fixture;

	fixture_init(&fixture, 4);
	if (is_listening)
		binding = fixture_listen(&fixture, 0);
	message = fixture_req(&fixture);
	if (spoil != NULL)
		spoil(&message.req);
	fixture_push(&fixture, &message);
	message = fixture_pull(&fixture, RNIC_CM_REJ);
	assert_int_equal(message.transaction_id, 1000);
	assert_int_equal(message.rej.local_comm_id, 0);
	assert_int_equal(message.rej.remote_comm_id, FIXTURE_PEER_COMM_ID);
	assert_int_equal(message.rej.message, RNIC_CM_ABOUT_REQ);
	assert_int_equal(message.rej.reason, reason);
	fixture_expect_silence(&fixture);
	assert_null(cm_next_connection(fixture.cm, NULL));
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
}

static void spoil_port(struct rnic_cm_req *req)
{
	req->service_id++;
}

static void spoil_port_space(struct rnic_cm_req *req)
{
	req->service_id = rnic_service_id(RNIC_PORT_SPACE_IB, FIXTURE_PORT);
}

static void spoil_service(struct rnic_cm_req *req)
{
	req->service_id |= UINT64_C(1) << 40;
}

static void spoil_version(struct rnic_cm_req *req)
{
	req->private_data[0] = 1;
}

static void spoil_ip(struct rnic_cm_req *req)
{
	req->private_data[RNIC_IP_CM_BYTES - 1]++;
}

static void spoil_gid(struct rnic_cm_req *req)
{
	req->primary_local_gid[15]++;
}

static void spoil_transport(struct rnic_cm_req *req)
{
	req->transport = 2;
}

static void spoil_extended_transport(struct rnic_cm_req *req)
{
	req->transport = RNIC_CM_TRANSPORT_EXTENDED;
	req->extended_transport = 2;
}

static void spoil_mtu(struct rnic_cm_req *req)
{
	req->path_mtu = 6;
}

/* 0 stands for no identifier. */
static void test_request_without_identifier(void **state)
{
	struct rnic_cm_message req;
	struct cm_binding *binding;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 4);
	binding = fixture_listen(&fixture, 0);
	req = fixture_req(&fixture);
	req.req.local_comm_id = 0;
	fixture_push(&fixture, &req);
	fixture_expect_silence(&fixture);
	fixture_expect_no_event(&fixture);
	assert_int_equal(cm_counter(fixture.cm, CM_COUNTER_MALFORMED), 1);
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
}

static void test_refusals(void **state)
{
	(void)state;
	expect_refusal(NULL, false, RNIC_CM_REJECT_INVALID_SERVICE_ID);
	expect_refusal(spoil_port, true, RNIC_CM_REJECT_INVALID_SERVICE_ID);
	expect_refusal(spoil_port_space, true, RNIC_CM_REJECT_INVALID_SERVICE_ID);
	expect_refusal(spoil_service, true, RNIC_CM_REJECT_INVALID_SERVICE_ID);
	expect_refusal(spoil_version, true, RNIC_CM_REJECT_UNSUPPORTED);
	expect_refusal(spoil_ip, true, RNIC_CM_REJECT_INVALID_GID);
	expect_refusal(spoil_gid, true, RNIC_CM_REJECT_INVALID_GID);
	expect_refusal(spoil_transport, true, RNIC_CM_REJECT_INVALID_TRANSPORT);
	expect_refusal(spoil_extended_transport, true, RNIC_CM_REJECT_INVALID_TRANSPORT);
	expect_refusal(spoil_mtu, true, RNIC_CM_REJECT_INVALID_MTU);
}

/* Every path MTU that exists is accepted, and becomes that of the queue pair. */
static void test_path_mtus(void **state)
{
	struct rnic_cm_message req, rej;
	struct cm_connection_info info;
	struct cm_binding *binding;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 8);
	binding = fixture_listen(&fixture, 0);
	req = fixture_req(&fixture);
	for (uint8_t path_mtu = 0; path_mtu <= 6; path_mtu++) {
		struct cm_connection *connection;

		req.req.local_comm_id = FIXTURE_PEER_COMM_ID + path_mtu;
		req.req.path_mtu = path_mtu;
		fixture_push(&fixture, &req);
		if (path_mtu == 0 || path_mtu == 6) {
			rej = fixture_pull(&fixture, RNIC_CM_REJ);
			assert_int_equal(rej.rej.reason, RNIC_CM_REJECT_INVALID_MTU);
			assert_int_equal(rej.rej.info_bytes, 1);
			assert_int_equal(rej.rej.info[0], 5 << 4);
			continue;
		}
		connection =
			fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST)->event.connection;
		cm_describe(connection, &info);
		assert_int_equal(info.path.mtu, path_mtu);
		cm_destroy(connection, fixture.now_ns);
		fixture_pull(&fixture, RNIC_CM_REJ);
	}
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
}

/* The other side: the QP in a REP already has a connection with us. */
static void test_stale_response(void **state)
{
	struct cm_connection *old, *connection;
	struct rnic_cm_message rep, rej;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 4);
	old = fixture_reach(&fixture, STATE_ESTABLISHED, true);
	connection = fixture_reach(&fixture, STATE_REQ_SENT, true);
	memset(connection->private_data, 0x5a,
	       CM_CONNECT_PRIVATE_BYTES); /* the REQ's private data */
	rep = fixture_rep(connection->comm_id);
	rep.rep.local_comm_id++;
	fixture_push(&fixture, &rep);
	assert_int_equal(fixture_expect_event(&fixture, CM_EVENT_REJECTED)->event.status,
			 RNIC_CM_REJECT_STALE_CONNECTION);
	assert_int_equal(old->state, STATE_ESTABLISHED);
	assert_int_equal(fixture.question_count, 1);
	rej = fixture_pull(&fixture, RNIC_CM_REJ);
	assert_int_equal(rej.rej.reason, RNIC_CM_REJECT_STALE_CONNECTION);
	assert_int_equal(rej.rej.message, RNIC_CM_ABOUT_REP);
	assert_int_equal(rej.rej.remote_comm_id, FIXTURE_PEER_COMM_ID + 1);
	for (size_t i = 0; i < sizeof(rej.rej.private_data); i++)
		assert_int_equal(rej.rej.private_data[i], 0);
	cm_destroy(old, fixture.now_ns);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

/*
 * The manager remembers a refusal for seconds, and a peer that provokes refusals locks out no other
 * peer.
 */
static void test_refusals_leave_room(void **state)
{
	struct cm_binding *binding;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 8);
	binding = fixture_listen(&fixture, 0);
	for (uint32_t i = 0; i < 20; i++) {
		struct rnic_cm_message req = fixture_req(&fixture);
		struct cm_connection *connection;

		req.req.local_comm_id += i;
		req.req.local_qpn += i;
		fixture_push(&fixture, &req);
		connection =
			fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST)->event.connection;
		assert_int_equal(
			cm_reject(connection, RNIC_CM_REJECT_CONSUMER, NULL, 0, fixture.now_ns), 0);
		cm_destroy(connection, fixture.now_ns);
		fixture_pull(&fixture, RNIC_CM_REJ);
		fixture_wait(&fixture, 2 * MS);
	}
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
}

/* The manager forgets requests beyond the backlog until an answer makes room. */
static void test_backlog(void **state)
{
	struct cm_connection *connections[3];
	struct cm_binding_info info;
	struct cm_binding *binding;
	struct cm_fixture fixture;
	struct rnic_cm_message req;

	(void)state;
	fixture_init(&fixture, 8);
	binding = fixture_listen(&fixture, 2);
	req = fixture_req(&fixture);
	for (int i = 0; i < 2; i++) {
		req.req.local_comm_id++;
		req.req.local_qpn++;
		fixture_push(&fixture, &req);
		connections[i] =
			fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST)->event.connection;
	}
	req.req.local_comm_id++;
	req.req.local_qpn++;
	fixture_push(&fixture, &req);
	fixture_expect_no_event(&fixture);
	fixture_expect_silence(&fixture);
	assert_int_equal(cm_counter(fixture.cm, CM_COUNTER_BACKLOG_FULL), 1);
	cm_describe_binding(binding, &info);
	assert_int_equal(info.pending_count, 2);
	assert_int_equal(cm_reject(connections[0], 28, NULL, 0, fixture.now_ns), 0);
	fixture_pull(&fixture, RNIC_CM_REJ);
	fixture_push(&fixture, &req);
	connections[2] = fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST)->event.connection;
	/* The requests outlive their listener. */
	cm_unbind(fixture.cm, binding);
	for (int i = 0; i < 3; i++)
		cm_destroy(connections[i], fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_nobody_takes_it(void **state)
{
	struct cm_binding_info info;
	struct cm_binding *binding;
	struct cm_fixture fixture;
	struct rnic_cm_message req;

	(void)state;
	fixture_init(&fixture, 1);
	binding = fixture_listen(&fixture, 2);
	req = fixture_req(&fixture);
	fixture.is_refusing = true;
	fixture_push(&fixture, &req);
	fixture_expect_silence(&fixture);
	cm_describe_binding(binding, &info);
	assert_int_equal(info.pending_count, 0);
	fixture.is_refusing = false;
	fixture_push(&fixture, &req);
	fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST);
	/* No room for another connection. */
	req.req.local_comm_id++;
	req.req.local_qpn++;
	fixture_push(&fixture, &req);
	fixture_expect_silence(&fixture);
	assert_int_equal(cm_counter(fixture.cm, CM_COUNTER_REFUSED), 2);
	cm_destroy(fixture.events[0].event.connection, fixture.now_ns);
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
}

/* The manager answers only a bounded number of strangers' requests. */
static void test_flood(void **state)
{
	struct rnic_cm_message req;
	struct cm_fixture fixture;
	int answers = 0;

	(void)state;
	fixture_init(&fixture, 1);
	req = fixture_req(&fixture);
	for (int i = 0; i < 10000; i++) {
		req.req.local_comm_id++;
		fixture_push(&fixture, &req);
	}
	for (; cm_has_ready(fixture.cm); answers++)
		fixture_pull(&fixture, RNIC_CM_REJ);
	assert_int_equal(answers + cm_counter(fixture.cm, CM_COUNTER_REPLIES_DROPPED), 10000);
	assert_in_range(answers, 1, 1000);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_holder_learns),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_request_without_identifier),
		cmocka_unit_test(test_refusals_leave_room),
		cmocka_unit_test(test_path_mtus),
		cmocka_unit_test(test_stale_response),
		cmocka_unit_test(test_backlog),
		cmocka_unit_test(test_nobody_takes_it),
		cmocka_unit_test(test_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
