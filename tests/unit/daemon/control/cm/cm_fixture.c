/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

#include "proto/wire/gid.h"
#include "proto/wire/packet.h"

static bool note_event(void *context, const struct cm_event *event)
{
	struct cm_fixture *fixture = context;
	struct fixture_event *kept = &fixture->events[fixture->event_count];

	if (event->type == CM_EVENT_CONNECT_REQUEST && fixture->is_refusing)
		return false;
	assert_true(fixture->event_count < FIXTURE_EVENTS);
	assert_true(event->private_bytes <= sizeof(kept->private_data));
	fixture->event_count++;
	kept->event = *event;
	if (event->private_bytes > 0)
		memcpy(kept->private_data, event->private_data, event->private_bytes);
	return true;
}

static void note_strange_port(void *context, const struct cm_strange_port *strange)
{
	struct cm_fixture *fixture = context;

	fixture->strange_port_count++;
	fixture->strange_port = *strange;
}

static void note_question(void *context, uint32_t qpn, uint32_t comm_id)
{
	struct cm_fixture *fixture = context;

	assert_int_equal(qpn, FIXTURE_QPN);
	fixture->question_count++;
	fixture->asked_comm_id = comm_id;
}

static void note_message(void *context, const struct cm_message_note *note)
{
	struct cm_fixture *fixture = context;

	fixture->note_count++;
	fixture->note = *note;
}

void fixture_init_patient(struct cm_fixture *fixture, uint32_t max_connections,
			  uint64_t listener_wait_ns)
{
	static const struct cm_sink sink = {
		.event = note_event,
		.strange_port = note_strange_port,
		.ask_peer = note_question,
		.message = note_message,
	};
	const struct cm_config config = {
		.sink = &sink,
		.sink_context = fixture,
		.random = prng_source(&fixture->random),
		.ca_guid = FIXTURE_GUID,
		.max_connections = max_connections,
		.max_bindings = 16,
		.listener_wait_ns = listener_wait_ns,
	};

	*fixture = (struct cm_fixture){
		.now_ns = 1000 * MS,
		.local = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 1}),
		.peer = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 2}),
		.peer_udp_port = 50000,
	};
	prng_init(&fixture->random, 1);
	fixture->cm = cm_create(&config);
	assert_non_null(fixture->cm);
}

void fixture_init(struct cm_fixture *fixture, uint32_t max_connections)
{
	fixture_init_patient(fixture, max_connections, 0);
}

void fixture_fini(struct cm_fixture *fixture)
{
	fixture_expect_no_event(fixture);
	cm_free(fixture->cm);
}

void fixture_push(struct cm_fixture *fixture, const struct rnic_cm_message *message)
{
	int opcode = rnic_opcode_find(RNIC_SERVICE_UD, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 0);
	uint8_t bytes[RNIC_MAD_BYTES];
	const struct rnic_packet packet = {
		.addresses = {.source = fixture->peer,
			      .dest = fixture->local,
			      .source_port = fixture->peer_udp_port},
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.pkey = 0xffff,
		.dest_qpn = RNIC_GENERAL_SERVICES_QPN,
		.source_qpn = RNIC_GENERAL_SERVICES_QPN,
		.qkey = RNIC_MAD_QKEY,
		.payload = bytes,
		.payload_bytes = sizeof(bytes),
	};

	rnic_cm_encode(message, bytes);
	cm_receive(fixture->cm, &packet, fixture->now_ns);
}

struct rnic_cm_message fixture_pull(struct cm_fixture *fixture, enum rnic_cm_kind kind)
{
	struct rnic_cm_message message;
	struct rnic_packet built;

	assert_true(cm_has_ready(fixture->cm));
	assert_true(cm_transmit(fixture->cm, &built));
	assert_int_equal(built.payload_bytes, RNIC_MAD_BYTES);
	assert_int_equal(built.dest_qpn, RNIC_GENERAL_SERVICES_QPN);
	assert_int_equal(built.source_qpn, RNIC_GENERAL_SERVICES_QPN);
	assert_int_equal(built.qkey, 0x80010000);
	assert_true(rnic_gid_equal(&built.addresses.source, &fixture->local));
	assert_true(rnic_gid_equal(&built.addresses.dest, &fixture->peer));
	assert_int_equal(rnic_cm_decode(&message, built.payload, built.payload_bytes), 0);
	assert_string_equal(rnic_cm_kind_text(message.kind), rnic_cm_kind_text(kind));
	return message;
}

void fixture_expect_silence(struct cm_fixture *fixture)
{
	struct rnic_packet built;

	assert_false(cm_has_ready(fixture->cm));
	assert_false(cm_transmit(fixture->cm, &built));
}

const struct fixture_event *fixture_expect_event(struct cm_fixture *fixture,
						 enum cm_event_type type)
{
	const struct fixture_event *event = &fixture->events[fixture->event_read];

	assert_true(fixture->event_read < fixture->event_count);
	fixture->event_read++;
	assert_int_equal(event->event.type, type);
	return event;
}

void fixture_expect_no_event(const struct cm_fixture *fixture)
{
	assert_int_equal(fixture->event_read, fixture->event_count);
}

void fixture_wait(struct cm_fixture *fixture, uint64_t duration_ns)
{
	uint64_t end_ns = fixture->now_ns + duration_ns;

	while (cm_next_deadline_ns(fixture->cm) <= end_ns) {
		uint64_t deadline_ns = cm_next_deadline_ns(fixture->cm);

		if (deadline_ns > fixture->now_ns)
			fixture->now_ns = deadline_ns;
		cm_tick(fixture->cm, fixture->now_ns);
	}
	fixture->now_ns = end_ns;
}

struct cm_binding *fixture_listen(struct cm_fixture *fixture, uint32_t backlog)
{
	const struct cm_bind bind = {
		.port_space = RNIC_PORT_SPACE_TCP,
		.address = {fixture->local, FIXTURE_PORT},
		.user = fixture,
	};
	struct cm_binding *binding;

	assert_int_equal(cm_bind(fixture->cm, &bind, &binding), 0);
	assert_int_equal(cm_listen(binding, backlog), 0);
	return binding;
}

static void put_addresses(const struct cm_fixture *fixture, uint8_t *private_data)
{
	const struct rnic_ip_cm addresses = {
		.source = fixture->peer,
		.dest = fixture->local,
		.source_port = FIXTURE_PEER_PORT,
	};

	rnic_ip_cm_encode(&addresses, private_data);
	memcpy(private_data + RNIC_IP_CM_BYTES, "hello", 5);
}

struct rnic_cm_message fixture_req(const struct cm_fixture *fixture)
{
	struct rnic_cm_message message = {
		.kind = RNIC_CM_REQ,
		.transaction_id = 1000,
		.req =
			{
				.local_comm_id = FIXTURE_PEER_COMM_ID,
				.service_id = rnic_service_id(RNIC_PORT_SPACE_TCP, FIXTURE_PORT),
				.local_qpn = FIXTURE_PEER_QPN,
				.responder_resources = 3,
				.initiator_depth = 4,
				.remote_response_timeout = CM_DEFAULT_RESPONSE_TIMEOUT,
				.local_response_timeout = CM_DEFAULT_RESPONSE_TIMEOUT,
				.starting_psn = 0x123456,
				.retry_count = 6,
				.rnr_retry_count = 5,
				.path_mtu = 3,
				.max_cm_retries = 3,
				.primary_hop_limit = 64,
				.primary_ack_timeout = CM_DEFAULT_PACKET_LIFETIME + 1,
			},
	};

	memcpy(message.req.primary_local_gid, fixture->peer.bytes, 16);
	memcpy(message.req.primary_remote_gid, fixture->local.bytes, 16);
	put_addresses(fixture, message.req.private_data);
	return message;
}

struct rnic_cm_message fixture_sidr_req(const struct cm_fixture *fixture)
{
	struct rnic_cm_message message = {
		.kind = RNIC_CM_SIDR_REQ,
		.transaction_id = 1001,
		.sidr_req =
			{
				.request_id = FIXTURE_PEER_COMM_ID,
				.pkey = 0xffff,
				.service_id = rnic_service_id(RNIC_PORT_SPACE_TCP, FIXTURE_PORT),
			},
	};

	put_addresses(fixture, message.sidr_req.private_data);
	return message;
}

struct rnic_cm_message fixture_rep(uint32_t comm_id)
{
	return (struct rnic_cm_message){
		.kind = RNIC_CM_REP,
		.rep =
			{
				.local_comm_id = FIXTURE_PEER_COMM_ID,
				.remote_comm_id = comm_id,
				.local_qpn = FIXTURE_PEER_QPN,
				.starting_psn = 0x654321,
				.responder_resources = 2,
				.initiator_depth = 9,
				.rnr_retry_count = 4,
			},
	};
}

struct rnic_cm_message fixture_about(enum rnic_cm_kind kind, uint32_t comm_id)
{
	struct rnic_cm_message message = {.kind = kind, .transaction_id = 2000};

	/* All these messages begin with the two identifiers. */
	message.rtu.local_comm_id = FIXTURE_PEER_COMM_ID;
	message.rtu.remote_comm_id = comm_id;
	if (kind == RNIC_CM_DREQ)
		message.dreq.remote_qpn = FIXTURE_QPN;
	if (kind == RNIC_CM_REJ)
		message.rej.reason = RNIC_CM_REJECT_CONSUMER;
	if (kind == RNIC_CM_SIDR_REP)
		message.sidr_rep = (struct rnic_cm_sidr_rep){
			.request_id = comm_id,
			.qpn = FIXTURE_PEER_QPN,
			.qkey = 0x01234567,
		};
	return message;
}

struct cm_connect fixture_connect_parameters(const struct cm_fixture *fixture)
{
	return (struct cm_connect){
		.port_space = RNIC_PORT_SPACE_TCP,
		.qp_type = RNIC_QP_TYPE_RC,
		.source_port = FIXTURE_PEER_PORT,
		.dest_port = FIXTURE_PORT,
		.path =
			{
				.source = fixture->local,
				.dest = fixture->peer,
				.mtu = 3,
				.packet_lifetime = CM_DEFAULT_PACKET_LIFETIME,
			},
		.qp =
			{
				.qpn = FIXTURE_QPN,
				.psn = 0xabcdef,
				.responder_resources = 5,
				.initiator_depth = 6,
				.retry_count = 7,
				.rnr_retry_count = 1,
			},
		.response_timeout = CM_DEFAULT_RESPONSE_TIMEOUT,
		.max_retries = 3,
	};
}

static struct cm_connection *begin_active(struct cm_fixture *fixture, uint8_t qp_type)
{
	struct cm_connect connect = fixture_connect_parameters(fixture);
	struct cm_connection *connection;

	connect.qp_type = qp_type;
	assert_int_equal(cm_connect(fixture->cm, &connect, fixture->now_ns, &connection), 0);
	fixture_pull(fixture, qp_type == RNIC_QP_TYPE_UD ? RNIC_CM_SIDR_REQ : RNIC_CM_REQ);
	return connection;
}

/* The listener is gone on return: the connection does not need it. */
static struct cm_connection *begin_passive(struct cm_fixture *fixture, bool is_datagram)
{
	struct cm_binding *binding = fixture_listen(fixture, 0);
	struct rnic_cm_message message =
		is_datagram ? fixture_sidr_req(fixture) : fixture_req(fixture);
	struct cm_connection *connection;

	fixture_push(fixture, &message);
	connection = fixture_expect_event(fixture, CM_EVENT_CONNECT_REQUEST)->event.connection;
	cm_unbind(fixture->cm, binding);
	return connection;
}

static void establish_active(struct cm_fixture *fixture, struct cm_connection *connection)
{
	assert_int_equal(cm_establish(connection, fixture->now_ns), 0);
	fixture_pull(fixture, RNIC_CM_RTU);
}

static void establish_passive(struct cm_fixture *fixture, struct cm_connection *connection)
{
	struct rnic_cm_message rtu = fixture_about(RNIC_CM_RTU, connection->comm_id);

	fixture_push(fixture, &rtu);
	fixture_expect_event(fixture, CM_EVENT_ESTABLISHED);
}

static void accept_it(struct cm_fixture *fixture, struct cm_connection *connection)
{
	const struct cm_accept accept = {.qp = {.qpn = FIXTURE_QPN}};

	assert_int_equal(cm_accept(connection, &accept, fixture->now_ns), 0);
	fixture_pull(fixture, connection->is_datagram ? RNIC_CM_SIDR_REP : RNIC_CM_REP);
}

static void respond(struct cm_fixture *fixture, struct cm_connection *connection)
{
	struct rnic_cm_message rep = fixture_rep(connection->comm_id);

	fixture_push(fixture, &rep);
	fixture_expect_event(fixture, CM_EVENT_CONNECT_RESPONSE);
}

void fixture_end_by_call(struct cm_fixture *fixture, struct cm_connection *connection)
{
	struct rnic_cm_message dreq = fixture_about(RNIC_CM_DREQ, connection->comm_id);

	connection->ends_by_call = true;
	fixture_push(fixture, &dreq);
	fixture_expect_event(fixture, CM_EVENT_DISCONNECTED);
	fixture_expect_silence(fixture);
}

static void part(struct cm_fixture *fixture, struct cm_connection *connection,
		 enum connection_state state)
{
	struct rnic_cm_message drep = fixture_about(RNIC_CM_DREP, connection->comm_id);

	if (state == STATE_DREQ_RECEIVED) {
		fixture_end_by_call(fixture, connection);
		return;
	}
	assert_int_equal(cm_disconnect(connection, fixture->now_ns), 0);
	fixture_pull(fixture, RNIC_CM_DREQ);
	if (state == STATE_DREQ_SENT)
		return;
	fixture_push(fixture, &drep);
	fixture_expect_event(fixture, CM_EVENT_DISCONNECTED);
	if (state == STATE_TIMEWAIT)
		return;
	fixture_wait(fixture, FIXTURE_TIMEWAIT_NS * 4);
	fixture_expect_event(fixture, CM_EVENT_TIMEWAIT_EXIT);
}

struct cm_connection *fixture_reach(struct cm_fixture *fixture, enum connection_state state,
				    bool is_active)
{
	bool is_datagram = state == STATE_SIDR_SENT || state == STATE_SIDR_RECEIVED ||
			   state == STATE_SIDR_ANSWERED;
	struct cm_connection *connection =
		is_active ? begin_active(fixture, is_datagram ? RNIC_QP_TYPE_UD : RNIC_QP_TYPE_RC)
			  : begin_passive(fixture, is_datagram);

	if (connection->state == state)
		return connection;
	if (is_active)
		respond(fixture, connection);
	if (state == STATE_REJECTED) {
		assert_int_equal(cm_reject(connection, 28, NULL, 0, fixture->now_ns), 0);
		fixture_pull(fixture, RNIC_CM_REJ);
	} else if (!is_active) {
		accept_it(fixture, connection);
	}
	if (connection->state == state)
		return connection;
	if (is_active)
		establish_active(fixture, connection);
	else
		establish_passive(fixture, connection);
	if (connection->state != state)
		part(fixture, connection, state);
	assert_int_equal(connection->state, state);
	return connection;
}
