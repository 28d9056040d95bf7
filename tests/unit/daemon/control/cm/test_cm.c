/* SPDX-License-Identifier: MIT */
/* The connection manager on the wire: its datagrams, and the datagrams that it refuses. */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

#include "lib/nic/base/prng.h"
#include "lib/nic/engine/engine.h"
#include "proto/base/be.h"
#include "proto/wire/gid.h"
#include "proto/wire/headers.h"
#include "proto/wire/icrc.h"
#include "proto/wire/ip_header.h"
#include "tests/unit/proto/wire/pcap_reader.h"

#include <stdio.h>

/* Reads the first packet of a recording: Linux's request. */
static void read_golden(const char *name, struct rnic_datagram *datagram,
			struct rnic_packet *packet, uint8_t bytes[RNIC_PACKET_BYTES_MAX])
{
	struct pcap_reader reader;
	const uint8_t *ip;
	size_t ip_bytes;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.pcap", GOLDEN_DIRECTORY, name);
	pcap_reader_open(&reader, path);
	assert_true(pcap_reader_next(&reader, &ip, &ip_bytes));
	assert_int_equal(rnic_datagram_decode(datagram, ip, ip_bytes), 0);
	memcpy(bytes, datagram->payload, datagram->payload_bytes);
	assert_int_equal(
		rnic_packet_decode(packet, &datagram->addresses, bytes, datagram->payload_bytes),
		0);
	pcap_reader_close(&reader);
}

/* Encodes BTH to the end of the MAD, as on the wire. */
static void encode(const struct rnic_packet *built, uint8_t *bytes)
{
	size_t header_bytes = rnic_packet_encode_headers(built, bytes);

	memcpy(bytes + header_bytes, built->payload, built->payload_bytes);
}

/*
 * For the connection of Linux's recording, the manager sends the same REQ, except for random
 * fields.
 */
static void test_our_request_is_that_of_linux(void **state)
{
	uint8_t golden[RNIC_PACKET_BYTES_MAX], ours[RNIC_PACKET_BYTES_MAX];
	struct cm_connection *connection;
	struct rnic_cm_message linux_req, our_req;
	struct rnic_datagram datagram;
	struct rnic_packet built;
	struct rnic_packet packet;
	struct cm_connect connect;
	struct cm_fixture fixture;
	size_t length;

	(void)state;
	read_golden("cm_rping", &datagram, &packet, golden);
	assert_int_equal(rnic_cm_decode(&linux_req, packet.payload, packet.payload_bytes), 0);
	fixture_init(&fixture, 4);
	connect = fixture_connect_parameters(&fixture);
	connect.source_port = rnic_be16_read(linux_req.req.private_data + 2);
	connect.response_timeout = 20;
	connect.max_retries = 15;
	connect.path = (struct cm_path){
		.source = datagram.addresses.source,
		.dest = datagram.addresses.dest,
		.flow_label = linux_req.req.primary_flow_label,
		.mtu = 3,
		.packet_lifetime = 18,
	};
	connect.qp = (struct cm_qp_parameters){
		.qpn = linux_req.req.local_qpn,
		.psn = linux_req.req.starting_psn,
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	assert_int_equal(cm_connect(fixture.cm, &connect, fixture.now_ns, &connection), 0);
	assert_true(cm_transmit(fixture.cm, &built));
	assert_int_equal(rnic_cm_decode(&our_req, built.payload, RNIC_MAD_BYTES), 0);
	our_req.transaction_id = linux_req.transaction_id;
	our_req.req.local_comm_id = linux_req.req.local_comm_id;
	our_req.req.local_ca_guid = linux_req.req.local_ca_guid;
	assert_memory_equal(&our_req.req, &linux_req.req, sizeof(our_req.req));

	/* The headers are equal too, except the PSN and two bits without meaning here. */
	encode(&built, ours);
	length = rnic_packet_bytes(&built);
	assert_int_equal(length + RNIC_ICRC_BYTES, datagram.payload_bytes);
	ours[1] = golden[1];
	memcpy(ours + 8, golden + 8, 4);
	assert_memory_equal(ours, golden, RNIC_BTH_BYTES + RNIC_DETH_BYTES);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

/* The manager understands Linux's request, including the ports. */
static void test_the_request_of_linux(void **state)
{
	uint8_t golden[RNIC_PACKET_BYTES_MAX];
	struct cm_bind bind = {.port_space = RNIC_PORT_SPACE_TCP, .address = {{{0}}, 7174}};
	struct cm_connection_info info;
	struct rnic_datagram datagram;
	struct cm_binding *binding;
	struct rnic_packet packet;
	struct cm_fixture fixture;

	(void)state;
	read_golden("cm_rping_v6", &datagram, &packet, golden);
	fixture_init(&fixture, 4);
	assert_int_equal(cm_bind(fixture.cm, &bind, &binding), 0);
	assert_int_equal(cm_listen(binding, 0), 0);
	cm_receive(fixture.cm, &packet, fixture.now_ns);
	cm_describe(fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST)->event.connection,
		    &info);
	assert_int_equal(info.peer_qpn, 0x5e);
	assert_int_equal(info.peer.port, 0xbb06);
	assert_memory_equal(&info.peer.gid, &datagram.addresses.source, 16);
	cm_destroy(fixture.events[0].event.connection, fixture.now_ns);
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
}

static void test_what_is_not_for_us(void **state)
{
	uint8_t golden[RNIC_PACKET_BYTES_MAX];
	struct rnic_datagram datagram;
	struct rnic_packet packet, bad;
	struct cm_fixture fixture;

	(void)state;
	read_golden("cm_rping", &datagram, &packet, golden);
	fixture_init(&fixture, 4);
#define DROPPED(change)                                                                            \
	do {                                                                                       \
		bad = packet;                                                                      \
		change;                                                                            \
		cm_receive(fixture.cm, &bad, fixture.now_ns);                                      \
		fixture_expect_silence(&fixture);                                                  \
	} while (0)
	DROPPED(bad.qkey++);
	DROPPED(bad.source_qpn = 2);
	DROPPED(bad.pkey = 0x8001);
	DROPPED(bad.payload_bytes = 255);
	DROPPED(bad.payload_bytes = 0);
	DROPPED(bad.addresses.dest = rnic_gid_from_ipv4((const uint8_t[]){224, 0, 0, 1}));
	DROPPED(bad.addresses.source = rnic_gid_from_ipv4((const uint8_t[]){224, 0, 0, 1}));
	DROPPED(memset(&bad.addresses.source, 0, sizeof(bad.addresses.source)));
	DROPPED(bad.row = rnic_opcode_row(0x65));
	DROPPED(bad.row = rnic_opcode_row(0x04));
#undef DROPPED
	assert_int_equal(cm_counter(fixture.cm, CM_COUNTER_MALFORMED), 10);
	packet.pkey = 0x7fff;
	cm_receive(fixture.cm, &packet, fixture.now_ns);
	assert_true(cm_has_ready(fixture.cm));
	assert_int_equal(cm_counter(fixture.cm, CM_COUNTER_RECEIVED), 11);
	assert_string_equal(cm_counter_name(CM_COUNTER_RECEIVED), "cm_rcvd_mads");
	fixture_fini(&fixture);
}

/* Messages of every kind with random fields, and sometimes with valid identifiers. */
static void test_garbage(void **state)
{
	enum { MESSAGES = 100000 };
	struct cm_fixture fixture;
	struct cm_binding *binding;
	struct prng prng;

	(void)state;
	fixture_init(&fixture, 64);
	binding = fixture_listen(&fixture, 8);
	prng_init(&prng, 1);
	for (int i = 0; i < MESSAGES; i++) {
		const struct cm_connection *connection = cm_next_connection(fixture.cm, NULL);
		struct rnic_cm_message message = fixture_req(&fixture);
		struct rnic_packet built;

		message.req.local_comm_id = (uint32_t)prng_below(&prng, 8);
		message.req.local_qpn = (uint32_t)prng_below(&prng, 8);
		if (prng_below(&prng, 3) > 0) {
			message.kind = (enum rnic_cm_kind)(RNIC_CM_REQ + prng_below(&prng, 11));
			for (size_t at = 0; at < 40; at++)
				((uint8_t *)&message.req)[at] = (uint8_t)prng_next(&prng);
			message.rtu.local_comm_id = (uint32_t)prng_below(&prng, 8);
			if (connection != NULL)
				message.rtu.remote_comm_id = connection->comm_id;
		}
		fixture_push(&fixture, &message);
		fixture_wait(&fixture, prng_below(&prng, 100 * MS));
		while (cm_transmit(fixture.cm, &built))
			;
		for (; fixture.event_read < fixture.event_count; fixture.event_read++) {
			struct cm_event *event = &fixture.events[fixture.event_read].event;
			const struct cm_accept accept = {.qp = {.qpn = 5}};

			if (event->type == CM_EVENT_CONNECT_REQUEST && prng_below(&prng, 2) == 0)
				cm_accept(event->connection, &accept, fixture.now_ns);
			if (event->type == CM_EVENT_CONNECT_REQUEST)
				cm_destroy(event->connection, fixture.now_ns);
		}
		fixture.event_read = fixture.event_count = 0;
	}
	assert_true(cm_counter(fixture.cm, CM_COUNTER_RECEIVED) == MESSAGES);
	cm_unbind(fixture.cm, binding);
	fixture_wait(&fixture, UINT64_C(3600000) * MS);
	assert_null(cm_next_connection(fixture.cm, NULL));
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_our_request_is_that_of_linux),
		cmocka_unit_test(test_the_request_of_linux),
		cmocka_unit_test(test_what_is_not_for_us),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
