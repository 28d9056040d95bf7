/* SPDX-License-Identifier: MIT */
/* The messages of connections, their timeouts, and the events that their holder gets. */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

#include "proto/base/bits.h"

#include <errno.h>

#define CONNECTION_TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

static int begin(void **state)
{
	static struct cm_fixture fixture;

	fixture_init(&fixture, 4);
	*state = &fixture;
	return 0;
}

static int finish(void **state)
{
	fixture_fini(*state);
	return 0;
}

static struct cm_connection *connect_with(struct cm_fixture *fixture,
					  const struct cm_connect *connect)
{
	struct cm_connection *connection;

	assert_int_equal(cm_connect(fixture->cm, connect, fixture->now_ns, &connection), 0);
	return connection;
}

static void test_what_a_req_says(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connect connect = fixture_connect_parameters(fixture);
	struct cm_connection *connection;
	struct rnic_cm_message message;
	struct rnic_ip_cm addresses;

	connect.private_data = (const uint8_t *)"hello";
	connect.private_bytes = 5;
	connect.path.traffic_class = 0x68;
	connection = connect_with(fixture, &connect);
	message = fixture_pull(fixture, RNIC_CM_REQ);
	assert_int_equal(message.req.local_comm_id, connection->comm_id);
	assert_true(message.req.service_id == 0x01061c06);
	assert_true(message.req.local_ca_guid == FIXTURE_GUID);
	assert_int_equal(message.req.local_qpn, FIXTURE_QPN);
	assert_int_equal(message.req.starting_psn, 0xabcdef);
	assert_int_equal(message.req.responder_resources, 5);
	assert_int_equal(message.req.initiator_depth, 6);
	assert_int_equal(message.req.retry_count, 7);
	assert_int_equal(message.req.rnr_retry_count, 1);
	assert_int_equal(message.req.remote_response_timeout, CM_DEFAULT_RESPONSE_TIMEOUT);
	assert_int_equal(message.req.local_response_timeout, CM_DEFAULT_RESPONSE_TIMEOUT);
	assert_int_equal(message.req.max_cm_retries, 3);
	assert_int_equal(message.req.pkey, 0xffff);
	assert_int_equal(message.req.primary_traffic_class, 0x68);
	assert_int_equal(message.req.primary_hop_limit, 64);
	assert_int_equal(message.req.primary_ack_timeout, CM_DEFAULT_PACKET_LIFETIME + 1);
	assert_memory_equal(message.req.primary_local_gid, fixture->local.bytes, 16);
	assert_int_equal(rnic_ip_cm_decode(&addresses, message.req.private_data), 0);
	assert_int_equal(addresses.source_port, FIXTURE_PEER_PORT);
	assert_memory_equal(message.req.private_data + RNIC_IP_CM_BYTES, "hello", 6);
	cm_destroy(connection, fixture->now_ns);
}

/*
 * The extensions' place in the kernel: the vendor ID in reserved bytes, the options in the header.
 */
static void test_extensions(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connect connect = fixture_connect_parameters(fixture);
	struct cm_connection *connection;
	struct rnic_cm_message message, answer;
	const struct fixture_event *event;
	uint8_t bytes[RNIC_MAD_BYTES];

	connect.qp.ece_vendor_id = 0x0002c9;
	connect.qp.ece_options = 0xa0b0c0d0;
	connection = connect_with(fixture, &connect);
	message = fixture_pull(fixture, RNIC_CM_REQ);
	assert_int_equal(message.req.vendor_id, 0x0002c9);
	assert_int_equal(message.attribute_modifier, 0xa0b0c0d0);
	rnic_cm_encode(&message, bytes);
	assert_memory_equal(bytes + 20, "\xa0\xb0\xc0\xd0", 4);
	assert_memory_equal(bytes + RNIC_MAD_HEADER_BYTES + 5, "\x00\x02\xc9", 3);

	answer = fixture_rep(connection->comm_id);
	answer.rep.vendor_id_high = 0x12;
	answer.rep.vendor_id_middle = 0x34;
	answer.rep.vendor_id_low = 0x56;
	answer.attribute_modifier = 7;
	fixture_push(fixture, &answer);
	event = fixture_expect_event(fixture, CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(event->event.peer.ece_vendor_id, 0x123456);
	assert_int_equal(event->event.peer.ece_options, 7);
	cm_destroy(connection, fixture->now_ns);
	fixture_pull(fixture, RNIC_CM_REJ);
}

/* The request has what that of a ConnectX had: another port than 4791, a vendor and a label. */
static void test_answered_extensions(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_binding *binding = fixture_listen(fixture, 0);
	struct rnic_cm_message message = fixture_req(fixture);
	struct cm_accept accept = {.qp = {.qpn = FIXTURE_QPN, .ece_vendor_id = 0x123456}};
	const struct fixture_event *event;
	struct cm_connection *connection;
	struct rnic_qp_attributes attributes;
	uint32_t mask;

	message.req.vendor_id = 0x0015b3;
	message.req.primary_flow_label = 0x5ba59;
	message.attribute_modifier = 3;
	fixture->peer_udp_port = 64079;
	fixture_push(fixture, &message);
	event = fixture_expect_event(fixture, CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(event->event.peer.ece_vendor_id, 0x0015b3);
	assert_int_equal(event->event.peer.ece_options, 3);
	connection = event->event.connection;
	accept.qp.ece_options = 1;
	assert_int_equal(cm_accept(connection, &accept, fixture->now_ns), 0);
	message = fixture_pull(fixture, RNIC_CM_REP);
	assert_int_equal(message.rep.vendor_id_high, 0x12);
	assert_int_equal(message.rep.vendor_id_middle, 0x34);
	assert_int_equal(message.rep.vendor_id_low, 0x56);
	assert_int_equal(message.attribute_modifier, 1);
	assert_int_equal(cm_qp_attributes(connection, RNIC_QP_STATE_RTR, &attributes, &mask), 0);
	assert_int_equal(attributes.path.flow_label, 0x5ba59);
	message = fixture_about(RNIC_CM_REJ, connection->comm_id);
	fixture_push(fixture, &message);
	fixture_expect_event(fixture, CM_EVENT_REJECTED);
	cm_destroy(connection, fixture->now_ns);
	cm_unbind(fixture->cm, binding);
}

static void test_transports(void **state)
{
	static const struct {
		uint8_t type;
		uint8_t transport;
		uint8_t extended;
	} cases[] = {{RNIC_QP_TYPE_RC, 0, 0},
		     {RNIC_QP_TYPE_UC, 1, 0},
		     {RNIC_QP_TYPE_XRC_INITIATOR, 3, 1}};
	struct cm_fixture *fixture = *state;

	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct cm_connect connect = fixture_connect_parameters(fixture);
		struct cm_connection *connection;
		struct rnic_cm_message message;

		connect.qp_type = cases[i].type;
		connection = connect_with(fixture, &connect);
		message = fixture_pull(fixture, RNIC_CM_REQ);
		assert_int_equal(message.req.transport, cases[i].transport);
		assert_int_equal(message.req.extended_transport, cases[i].extended);
		cm_destroy(connection, fixture->now_ns);
		fixture_pull(fixture, RNIC_CM_REJ);
	}
}

static void test_bad_parameters(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = NULL;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		struct cm_connect connect = fixture_connect_parameters(fixture);                   \
		change;                                                                            \
		assert_int_equal(cm_connect(fixture->cm, &connect, fixture->now_ns, &connection),  \
				 -EINVAL);                                                         \
		assert_null(connection);                                                           \
	} while (0)
	REFUSED(connect.port_space = 7);
	REFUSED(connect.qp_type = RNIC_QP_TYPE_XRC_TARGET);
	REFUSED(memset(&connect.path.dest, 0, sizeof(connect.path.dest)));
	REFUSED(connect.path.dest.bytes[12] = 224);
	REFUSED(memset(&connect.path.source, 0, sizeof(connect.path.source)));
	REFUSED(connect.path.source.bytes[0] = 0xfd);
	REFUSED(connect.path.mtu = 0);
	REFUSED(connect.path.mtu = 6);
	REFUSED(connect.path.packet_lifetime = 31);
	REFUSED(connect.qp.qpn = 1 << 24);
	REFUSED(connect.qp.psn = 1 << 24);
	REFUSED(connect.qp.retry_count = 8);
	REFUSED(connect.qp.rnr_retry_count = 8);
	REFUSED(connect.qp.ece_vendor_id = 1 << 24);
	REFUSED(connect.response_timeout = 32);
	REFUSED(connect.max_retries = 16);
	REFUSED(connect.private_bytes = 57);
	REFUSED(connect.qp_type = RNIC_QP_TYPE_UD; connect.private_bytes = 181);
#undef REFUSED
	assert_null(cm_next_connection(fixture->cm, NULL));
}

static void test_quota(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connect connect = fixture_connect_parameters(fixture);
	struct cm_connection *connections[4], *beyond;

	for (int i = 0; i < 4; i++)
		connections[i] = connect_with(fixture, &connect);
	assert_int_equal(cm_connect(fixture->cm, &connect, fixture->now_ns, &beyond), -ENOSPC);
	cm_destroy(connections[0], fixture->now_ns);
	connections[0] = connect_with(fixture, &connect);
	for (int i = 0; i < 4; i++)
		cm_destroy(connections[i], fixture->now_ns);
}

/* Each try takes its whole time; then the peer gets a REJ for the timeout. */
static void expect_tries(struct cm_fixture *fixture, enum rnic_cm_kind kind, uint32_t tries)
{
	for (uint32_t i = 0; i < tries; i++) {
		fixture_wait(fixture, FIXTURE_TRY_NS - 1);
		fixture_expect_silence(fixture);
		fixture_wait(fixture, 1);
		fixture_pull(fixture, kind);
	}
	fixture_wait(fixture, FIXTURE_TRY_NS - 1);
	fixture_expect_no_event(fixture);
	fixture_wait(fixture, 1);
}

static void test_nobody_answers_a_req(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_REQ_SENT, true);
	struct rnic_cm_message message;

	expect_tries(fixture, RNIC_CM_REQ, 3);
	assert_int_equal(fixture_expect_event(fixture, CM_EVENT_UNREACHABLE)->event.status,
			 -ETIMEDOUT);
	message = fixture_pull(fixture, RNIC_CM_REJ);
	assert_int_equal(message.rej.reason, RNIC_CM_REJECT_TIMEOUT);
	assert_int_equal(message.rej.local_comm_id, connection->comm_id);
	assert_int_equal(message.rej.info_bytes, 8);
	assert_int_equal(connection->state, STATE_ENDED);
	assert_int_equal(cm_counter(fixture->cm, CM_COUNTER_RETRIES), 3);
	assert_int_equal(cm_counter(fixture->cm, CM_COUNTER_TIMEOUTS), 1);
	cm_destroy(connection, fixture->now_ns);
}

static void test_nobody_answers_a_rep(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_REP_SENT, false);

	/* One REP was sent; the address has proven nothing, so the last try and the REJ are not. */
	expect_tries(fixture, RNIC_CM_REP, 2);
	fixture_expect_silence(fixture);
	fixture_wait(fixture, FIXTURE_TRY_NS);
	fixture_expect_silence(fixture);
	fixture_expect_event(fixture, CM_EVENT_UNREACHABLE);
	assert_int_equal(cm_counter(fixture->cm, CM_COUNTER_HELD_BACK), 2);
	cm_destroy(connection, fixture->now_ns);
}

static void test_nobody_answers_a_dreq(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_DREQ_SENT, true);

	expect_tries(fixture, RNIC_CM_DREQ, 3);
	assert_int_equal(fixture_expect_event(fixture, CM_EVENT_DISCONNECTED)->event.status,
			 -ETIMEDOUT);
	fixture_expect_silence(fixture);
	fixture_wait(fixture, FIXTURE_TIMEWAIT_NS - 1);
	fixture_expect_no_event(fixture);
	fixture_wait(fixture, CONNECTION_TOGETHER_NS);
	fixture_expect_event(fixture, CM_EVENT_TIMEWAIT_EXIT);
	cm_destroy(connection, fixture->now_ns);
}

/*
 * A holder that ends by call: the peer waits until the holder disconnects or is gone, however often
 * the peer repeats its farewell.
 */
static void test_end_by_call(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_ESTABLISHED, false);
	struct rnic_cm_message dreq = fixture_about(RNIC_CM_DREQ, connection->comm_id);

	fixture_end_by_call(fixture, connection);
	assert_int_equal(connection->state, STATE_DREQ_RECEIVED);
	fixture_push(fixture, &dreq);
	fixture_wait(fixture, 100000 * MS);
	fixture_expect_silence(fixture);
	assert_int_equal(cm_disconnect(connection, fixture->now_ns), 0);
	assert_true(fixture_pull(fixture, RNIC_CM_DREP).transaction_id == dreq.transaction_id);
	/* The DREP was lost. */
	fixture_push(fixture, &dreq);
	fixture_pull(fixture, RNIC_CM_DREP);
	fixture_wait(fixture, FIXTURE_TIMEWAIT_NS + CONNECTION_TOGETHER_NS);
	fixture_expect_event(fixture, CM_EVENT_TIMEWAIT_EXIT);
	assert_int_equal(cm_disconnect(connection, fixture->now_ns), 0);
	cm_destroy(connection, fixture->now_ns);
}

/* Both ends disconnect at the same time: each hears of the end by the other's DREQ. */
static void test_end_by_call_crosses(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_DREQ_SENT, true);
	struct rnic_cm_message drep = fixture_about(RNIC_CM_DREP, connection->comm_id);

	fixture_end_by_call(fixture, connection);
	fixture_wait(fixture, 100 * FIXTURE_TRY_NS);
	fixture_expect_silence(fixture);
	fixture_push(fixture, &drep);
	assert_int_equal(connection->state, STATE_TIMEWAIT);
	fixture_wait(fixture, FIXTURE_TIMEWAIT_NS + CONNECTION_TOGETHER_NS);
	fixture_expect_event(fixture, CM_EVENT_TIMEWAIT_EXIT);
	cm_destroy(connection, fixture->now_ns);
}

/* The peer leaves before its RTU came, or before our holder has confirmed. */
static void test_early_end_by_call(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *passive = fixture_reach(fixture, STATE_REP_SENT, false);
	struct rnic_cm_message dreq = fixture_about(RNIC_CM_DREQ, passive->comm_id);
	struct cm_connection *active;

	passive->ends_by_call = true;
	fixture_push(fixture, &dreq);
	fixture_expect_event(fixture, CM_EVENT_ESTABLISHED);
	fixture_expect_event(fixture, CM_EVENT_DISCONNECTED);
	fixture_expect_silence(fixture);
	cm_destroy(passive, fixture->now_ns);
	fixture_pull(fixture, RNIC_CM_DREP);
	active = fixture_reach(fixture, STATE_REP_RECEIVED, true);
	active->ends_by_call = true;
	dreq = fixture_about(RNIC_CM_DREQ, active->comm_id);
	fixture_push(fixture, &dreq);
	fixture_expect_event(fixture, CM_EVENT_DISCONNECTED);
	fixture_pull(fixture, RNIC_CM_DREP);
	cm_destroy(active, fixture->now_ns);
}

static void expect_note(struct cm_fixture *fixture, enum rnic_cm_kind kind, bool is_sent,
			const void *user, uint32_t owner)
{
	assert_int_equal(fixture->note_count, 1);
	assert_int_equal(fixture->note.kind, kind);
	assert_int_equal(fixture->note.is_sent, is_sent);
	assert_ptr_equal(fixture->note.user, user);
	assert_int_equal(fixture->note.owner, owner);
	assert_int_equal(fixture->note.qpn, FIXTURE_QPN);
	fixture->note_count = 0;
}

/* Messages are told with their holder; when that has gone, with whose it was. */
static void test_who_is_told_of_messages(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_ESTABLISHED, true);
	struct rnic_cm_message drep = fixture_about(RNIC_CM_DREP, connection->comm_id);
	int holder;

	cm_set_user(connection, &holder);
	fixture->note_count = 0;
	assert_int_equal(cm_disconnect(connection, fixture->now_ns), 0);
	fixture_pull(fixture, RNIC_CM_DREQ);
	expect_note(fixture, RNIC_CM_DREQ, true, &holder, CM_OWNER_NONE);
	cm_note_owner(connection, 1000);
	cm_destroy(connection, fixture->now_ns);
	fixture_push(fixture, &drep);
	expect_note(fixture, RNIC_CM_DREP, false, NULL, 1000);
}

/* Timewait by the code of the ACK timeout, as Linux has it, within bounds. */
static void test_timewait(void **state)
{
	static const struct {
		uint8_t code;
		uint64_t duration_ms;
	} cases[] = {
		{0, 1},	   {8, 1},    {9, 2},	  {14, 64},    {15, 512},
		{16, 256}, {17, 512}, {19, 2048}, {24, 65536}, {31, 65536},
	};
	struct cm_fixture *fixture = *state;

	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct cm_connection *connection = fixture_reach(fixture, STATE_ESTABLISHED, true);

		connection->ack_timeout = cases[i].code;
		fixture_end_by_call(fixture, connection);
		assert_int_equal(cm_disconnect(connection, fixture->now_ns), 0);
		fixture_pull(fixture, RNIC_CM_DREP);
		fixture_wait(fixture, cases[i].duration_ms * MS - 1);
		fixture_expect_no_event(fixture);
		fixture_wait(fixture, CONNECTION_TOGETHER_NS);
		fixture_expect_event(fixture, CM_EVENT_TIMEWAIT_EXIT);
		cm_destroy(connection, fixture->now_ns);
	}
}

/* Each end by itself would cost the daemon a timer and a wake-up. */
static void test_many_timewaits_end_together(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *first, *second;
	uint64_t first_end_ns;

	fixture->now_ns = rnic_round_up(fixture->now_ns, CONNECTION_TOGETHER_NS) + 1;
	first = fixture_reach(fixture, STATE_TIMEWAIT, true);
	first_end_ns = cm_next_deadline_ns(fixture->cm);
	fixture_wait(fixture, 1000000);
	second = fixture_reach(fixture, STATE_TIMEWAIT, true);
	assert_true(second->timer.deadline_ns == first_end_ns);
	fixture_wait(fixture, first_end_ns - fixture->now_ns);
	fixture_expect_event(fixture, CM_EVENT_TIMEWAIT_EXIT);
	fixture_expect_event(fixture, CM_EVENT_TIMEWAIT_EXIT);
	cm_destroy(first, fixture->now_ns);
	cm_destroy(second, fixture->now_ns);
}

/* Each MRA gives the peer more time once. */
static void test_mra(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_REQ_SENT, true);
	struct rnic_cm_message mra = fixture_about(RNIC_CM_MRA, connection->comm_id);
	const uint64_t service_ns = UINT64_C(4096) << 20;

	mra.mra.message = RNIC_CM_ABOUT_REP;
	mra.mra.service_timeout = 20;
	fixture_push(fixture, &mra);
	fixture_wait(fixture, FIXTURE_TRY_NS);
	fixture_pull(fixture, RNIC_CM_REQ);
	mra.mra.message = RNIC_CM_ABOUT_REQ;
	fixture_push(fixture, &mra);
	fixture_wait(fixture, 100 * MS);
	fixture_push(fixture, &mra);
	fixture_wait(fixture, FIXTURE_TRY_NS + service_ns - 100 * MS - 1);
	fixture_expect_silence(fixture);
	fixture_wait(fixture, 1);
	fixture_pull(fixture, RNIC_CM_REQ);
	cm_destroy(connection, fixture->now_ns);
	fixture_pull(fixture, RNIC_CM_REJ);
}

/* A peer may ask for any delay; the manager bounds the wait. */
static void test_hostile_timeouts(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_binding *binding = fixture_listen(fixture, 0);
	struct rnic_cm_message req = fixture_req(fixture);
	const struct cm_accept accept = {.qp = {.qpn = FIXTURE_QPN}};
	struct cm_connection *connection;

	req.req.local_response_timeout = 31;
	req.req.primary_ack_timeout = 31;
	req.req.max_cm_retries = 0;
	fixture_push(fixture, &req);
	connection = fixture_expect_event(fixture, CM_EVENT_CONNECT_REQUEST)->event.connection;
	assert_int_equal(cm_accept(connection, &accept, fixture->now_ns), 0);
	assert_true(cm_next_deadline_ns(fixture->cm) - fixture->now_ns <= 140000 * MS);
	cm_destroy(connection, fixture->now_ns);
	cm_unbind(fixture->cm, binding);
	fixture_wait(fixture, 3600000 * MS);
	assert_null(cm_next_connection(fixture->cm, NULL));
}

static void test_what_a_rep_says_and_means(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_REQ_SENT, true);
	struct rnic_cm_message rep = fixture_rep(connection->comm_id);
	const struct fixture_event *event;
	struct rnic_qp_attributes attributes;
	uint32_t mask;

	assert_int_equal(cm_qp_attributes(connection, RNIC_QP_STATE_RTR, &attributes, &mask),
			 -EINVAL);
	memcpy(rep.rep.private_data, "answer", 6);
	rep.rep.target_ack_delay = 15;
	fixture_push(fixture, &rep);
	event = fixture_expect_event(fixture, CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(event->event.private_bytes, CM_ACCEPT_PRIVATE_BYTES);
	assert_memory_equal(event->private_data, "answer", 7);
	assert_int_equal(event->event.peer.responder_resources, 9);
	assert_int_equal(event->event.peer.initiator_depth, 2);
	assert_int_equal(cm_qp_attributes(connection, RNIC_QP_STATE_RTR, &attributes, &mask), 0);
	assert_int_equal(attributes.dest_qpn, FIXTURE_PEER_QPN);
	/* Each side states its first PSN: the golden captures show it. */
	assert_int_equal(attributes.rq_psn, 0xabcdef);
	assert_int_equal(attributes.path_mtu, 3);
	assert_int_equal(attributes.max_dest_rd_atomic, 5);
	assert_int_equal(attributes.sq_psn, 0x654321);
	assert_memory_equal(&attributes.path.dest_gid, &fixture->peer, 16);
	assert_int_equal(cm_qp_attributes(connection, RNIC_QP_STATE_RTS, &attributes, &mask), 0);
	assert_int_equal(attributes.sq_psn, 0x654321);
	assert_int_equal(attributes.max_rd_atomic, 2);
	assert_int_equal(attributes.retry_count, 7);
	assert_int_equal(attributes.rnr_retry, 4);
	/* Two times 134 ms: one for the path, one for the peer's delay. */
	assert_int_equal(attributes.timeout, CM_DEFAULT_PACKET_LIFETIME + 2);
	assert_int_equal(cm_qp_attributes(connection, RNIC_QP_STATE_ERR, &attributes, &mask),
			 -EINVAL);
	cm_destroy(connection, fixture->now_ns);
}

static void test_accepting(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_REQ_RECEIVED, false);
	struct cm_accept accept = {
		.qp = {.qpn = FIXTURE_QPN,
		       .psn = 7,
		       .responder_resources = 1,
		       .initiator_depth = 2,
		       .rnr_retry_count = 3,
		       .has_srq = true},
		.private_data = (const uint8_t *)"welcome",
		.private_bytes = CM_ACCEPT_PRIVATE_BYTES + 1,
	};
	struct rnic_qp_attributes attributes;
	struct rnic_cm_message message;
	uint32_t mask;

	assert_int_equal(cm_accept(connection, &accept, fixture->now_ns), -EINVAL);
	accept.private_bytes = 7;
	accept.qp.qpn = 1 << 24;
	assert_int_equal(cm_accept(connection, &accept, fixture->now_ns), -EINVAL);
	accept.qp.qpn = FIXTURE_QPN;
	assert_int_equal(cm_accept(connection, &accept, fixture->now_ns), 0);
	message = fixture_pull(fixture, RNIC_CM_REP);
	assert_int_equal(message.transaction_id, 1000);
	assert_int_equal(message.rep.remote_comm_id, FIXTURE_PEER_COMM_ID);
	assert_int_equal(message.rep.local_qpn, FIXTURE_QPN);
	assert_int_equal(message.rep.starting_psn, 7);
	assert_int_equal(message.rep.responder_resources, 1);
	assert_int_equal(message.rep.initiator_depth, 2);
	assert_int_equal(message.rep.rnr_retry_count, 3);
	assert_int_equal(message.rep.has_srq, 1);
	assert_memory_equal(message.rep.private_data, "welcome", 8);
	assert_int_equal(cm_qp_attributes(connection, RNIC_QP_STATE_RTS, &attributes, &mask), 0);
	assert_int_equal(attributes.retry_count, 6);
	assert_int_equal(attributes.rnr_retry, 5);
	cm_destroy(connection, fixture->now_ns);
}

static void test_rejecting(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_REQ_RECEIVED, false);
	struct rnic_cm_message message;

	assert_int_equal(cm_reject(connection, 0, NULL, 0, fixture->now_ns), -EINVAL);
	assert_int_equal(cm_reject(connection, 28, NULL, 149, fixture->now_ns), -EINVAL);
	assert_int_equal(cm_reject(connection, 28, (const uint8_t *)"no", 2, fixture->now_ns), 0);
	for (int i = 0; i < 2; i++) {
		struct rnic_cm_message again = fixture_req(fixture);

		message = fixture_pull(fixture, RNIC_CM_REJ);
		assert_int_equal(message.rej.remote_comm_id, FIXTURE_PEER_COMM_ID);
		assert_int_equal(message.rej.message, RNIC_CM_ABOUT_REQ);
		assert_int_equal(message.rej.reason, 28);
		assert_memory_equal(message.rej.private_data, "no", 3);
		fixture_push(fixture, &again);
	}
	cm_destroy(connection, fixture->now_ns);
}

/* A peer that got an MRA is silent for a long time: the manager expects no further try. */
static void test_rejecting_after_an_mra(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_REQ_RECEIVED, false);
	const struct rnic_cm_message copy = fixture_req(fixture);

	fixture_push(fixture, &copy);
	fixture_pull(fixture, RNIC_CM_MRA);
	cm_destroy(connection, fixture->now_ns);
	fixture_pull(fixture, RNIC_CM_REJ);
	fixture_push(fixture, &copy);
	fixture_pull(fixture, RNIC_CM_REJ);
	fixture_wait(fixture, 2 * FIXTURE_TRY_NS - 1);
	assert_ptr_equal(cm_next_connection(fixture->cm, NULL), connection);
	fixture_wait(fixture, 1);
	assert_null(cm_next_connection(fixture->cm, NULL));
}

/* The peer sends data before its RTU comes: the holder gets ESTABLISHED from cm_tick(), once. */
static void test_traffic_before_the_rtu(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_REP_SENT, false);
	struct rnic_cm_message rtu = fixture_about(RNIC_CM_RTU, connection->comm_id);

	cm_note_traffic(connection, fixture->now_ns);
	fixture_expect_no_event(fixture);
	assert_true(cm_next_deadline_ns(fixture->cm) <= fixture->now_ns);
	fixture_wait(fixture, 0);
	fixture_expect_event(fixture, CM_EVENT_ESTABLISHED);
	fixture_push(fixture, &rtu);
	fixture_expect_no_event(fixture);
	fixture_wait(fixture, 10 * FIXTURE_TRY_NS);
	fixture_expect_silence(fixture);
	cm_destroy(connection, fixture->now_ns);
}

/* Traffic and DREQ in one instant: the events keep their order. */
static void test_traffic_and_goodbye(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_REP_SENT, false);
	struct rnic_cm_message dreq = fixture_about(RNIC_CM_DREQ, connection->comm_id);

	cm_note_traffic(connection, fixture->now_ns);
	fixture_push(fixture, &dreq);
	fixture_expect_event(fixture, CM_EVENT_ESTABLISHED);
	fixture_expect_event(fixture, CM_EVENT_DISCONNECTED);
	cm_destroy(connection, fixture->now_ns);
}

static void test_dreq_of_another_qp(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_ESTABLISHED, false);
	struct rnic_cm_message dreq = fixture_about(RNIC_CM_DREQ, connection->comm_id);

	dreq.dreq.remote_qpn++;
	fixture_push(fixture, &dreq);
	fixture_expect_silence(fixture);
	assert_int_equal(connection->state, STATE_ESTABLISHED);
	cm_destroy(connection, fixture->now_ns);
}

/* A message is ours only if both identifier and address match. */
static void test_messages_of_others(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_ESTABLISHED, false);
	struct rnic_cm_message dreq = fixture_about(RNIC_CM_DREQ, connection->comm_id);
	struct rnic_gid peer = fixture->peer;

	dreq.dreq.local_comm_id++;
	fixture_push(fixture, &dreq);
	dreq.dreq.local_comm_id--;
	fixture->peer.bytes[15]++;
	fixture_push(fixture, &dreq);
	fixture->peer = peer;
	fixture_expect_silence(fixture);
	assert_int_equal(cm_counter(fixture->cm, CM_COUNTER_UNPROVEN), 2);
	dreq.dreq.remote_comm_id ^= 1;
	fixture_push(fixture, &dreq);
	fixture_pull(fixture, RNIC_CM_DREP);
	assert_int_equal(connection->state, STATE_ESTABLISHED);
	cm_destroy(connection, fixture->now_ns);
}

static void test_description(void **state)
{
	struct cm_fixture *fixture = *state;
	struct cm_connection *connection = fixture_reach(fixture, STATE_ESTABLISHED, false);
	struct cm_connection_info info;

	cm_describe(connection, &info);
	assert_string_equal(info.state, "established");
	assert_int_equal(info.local.port, FIXTURE_PORT);
	assert_int_equal(info.peer.port, FIXTURE_PEER_PORT);
	assert_memory_equal(&info.peer.gid, &fixture->peer, 16);
	assert_int_equal(info.port_space, RNIC_PORT_SPACE_TCP);
	assert_int_equal(info.qp_type, RNIC_QP_TYPE_RC);
	assert_int_equal(info.qpn, FIXTURE_QPN);
	assert_int_equal(info.peer_qpn, FIXTURE_PEER_QPN);
	assert_false(info.is_active);
	assert_false(info.is_abandoned);
	assert_true(info.is_established);
	assert_ptr_equal(cm_next_connection(fixture->cm, NULL), connection);
	assert_null(cm_next_connection(fixture->cm, connection));
	cm_destroy(connection, fixture->now_ns);
	cm_describe(connection, &info);
	assert_true(info.is_abandoned);
}

/* Among many connections, an abandoned connection ends as soon as its last message is sent. */
static void test_left_behind_among_many(void **state)
{
	static const enum connection_state states[] = {STATE_ESTABLISHED, STATE_DREQ_SENT,
						       STATE_TIMEWAIT, STATE_REJECTED};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(states); i++) {
		struct cm_connection *connection;
		struct cm_fixture fixture;

		fixture_init(&fixture, 1);
		connection = fixture_reach(&fixture, states[i], true);
		cm_destroy(connection, fixture.now_ns);
		if (states[i] == STATE_ESTABLISHED)
			fixture_pull(&fixture, RNIC_CM_DREQ);
		fixture_wait(&fixture, 5 * MS);
		fixture_expect_silence(&fixture);
		assert_null(cm_next_connection(fixture.cm, NULL));
		fixture_fini(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONNECTION_TEST(test_what_a_req_says),
		CONNECTION_TEST(test_extensions),
		CONNECTION_TEST(test_answered_extensions),
		CONNECTION_TEST(test_transports),
		CONNECTION_TEST(test_bad_parameters),
		CONNECTION_TEST(test_quota),
		CONNECTION_TEST(test_nobody_answers_a_req),
		CONNECTION_TEST(test_nobody_answers_a_rep),
		CONNECTION_TEST(test_nobody_answers_a_dreq),
		CONNECTION_TEST(test_end_by_call),
		CONNECTION_TEST(test_end_by_call_crosses),
		CONNECTION_TEST(test_early_end_by_call),
		CONNECTION_TEST(test_who_is_told_of_messages),
		CONNECTION_TEST(test_timewait),
		CONNECTION_TEST(test_many_timewaits_end_together),
		CONNECTION_TEST(test_mra),
		CONNECTION_TEST(test_hostile_timeouts),
		CONNECTION_TEST(test_what_a_rep_says_and_means),
		CONNECTION_TEST(test_accepting),
		CONNECTION_TEST(test_rejecting),
		CONNECTION_TEST(test_rejecting_after_an_mra),
		CONNECTION_TEST(test_traffic_before_the_rtu),
		CONNECTION_TEST(test_traffic_and_goodbye),
		CONNECTION_TEST(test_dreq_of_another_qp),
		CONNECTION_TEST(test_messages_of_others),
		CONNECTION_TEST(test_description),
		cmocka_unit_test(test_left_behind_among_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
