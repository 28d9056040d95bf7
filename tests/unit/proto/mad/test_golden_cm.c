/* SPDX-License-Identifier: MIT */
/* Linux' messages on queue pair 1 decode, mean what tshark says, and encode byte for byte. */
#include "tests/unit/proto/wire/pcap_reader.h"

#include "proto/base/bits.h"
#include "proto/mad/cm_message.h"
#include "proto/mad/ip_cm.h"
#include "proto/wire/gid.h"
#include "proto/wire/ip_header.h"
#include "proto/wire/packet.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>

#define MESSAGES_MAX 8

static const struct {
	const char *file;
	enum rnic_cm_kind kinds[MESSAGES_MAX];
	size_t count;
} conversations[] = {
	{"cm_rping", {RNIC_CM_REQ, RNIC_CM_REP, RNIC_CM_RTU, RNIC_CM_DREQ, RNIC_CM_DREP}, 5},
	{"cm_rping_v6", {RNIC_CM_REQ, RNIC_CM_REP, RNIC_CM_RTU, RNIC_CM_DREQ, RNIC_CM_DREP}, 5},
	{"cm_reject_no_listener", {RNIC_CM_REQ, RNIC_CM_REJ}, 2},
	{"cm_udaddy", {RNIC_CM_SIDR_REQ, RNIC_CM_SIDR_REP}, 2},
};

/* The messages of a capture, each checked to come back as it was. */
static size_t read_messages(const char *file, struct rnic_cm_message *out)
{
	struct pcap_reader reader;
	const uint8_t *ip;
	size_t ip_bytes, count = 0;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.pcap", GOLDEN_DIRECTORY, file);
	pcap_reader_open(&reader, path);
	while (pcap_reader_next(&reader, &ip, &ip_bytes)) {
		uint8_t encoded[RNIC_MAD_BYTES];
		struct rnic_datagram datagram;
		struct rnic_packet packet;

		assert_int_equal(rnic_datagram_decode(&datagram, ip, ip_bytes), 0);
		assert_int_equal(rnic_packet_decode(&packet, &datagram.addresses, datagram.payload,
						    datagram.payload_bytes),
				 0);
		if (packet.dest_qpn != RNIC_MAD_QPN)
			continue;
		assert_int_equal(packet.qkey, RNIC_MAD_QKEY);
		assert_int_equal(packet.source_qpn, RNIC_MAD_QPN);
		assert_true(count < MESSAGES_MAX);
		assert_int_equal(rnic_cm_decode(&out[count], packet.payload, packet.payload_bytes),
				 0);
		rnic_cm_encode(&out[count], encoded);
		assert_memory_equal(encoded, packet.payload, sizeof(encoded));
		count++;
	}
	pcap_reader_close(&reader);
	return count;
}

static void test_conversations(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(conversations); i++) {
		struct rnic_cm_message messages[MESSAGES_MAX];

		assert_int_equal(read_messages(conversations[i].file, messages),
				 conversations[i].count);
		for (size_t j = 0; j < conversations[i].count; j++)
			assert_int_equal(messages[j].kind, conversations[i].kinds[j]);
	}
}

/* Compared with tshark's reading of the same packets. */
static void test_meaning(void **state)
{
	struct rnic_cm_message messages[MESSAGES_MAX];
	const struct rnic_cm_req *req = &messages[0].req;
	const struct rnic_cm_rep *rep = &messages[1].rep;
	const struct rnic_cm_dreq *dreq = &messages[3].dreq;
	uint16_t port_space, port;

	(void)state;
	read_messages("cm_rping", messages);
	assert_int_equal(req->local_comm_id, 0xa3f7a173);
	assert_true(rnic_service_id_split(req->service_id, &port_space, &port));
	assert_int_equal(port_space, RNIC_PORT_SPACE_TCP);
	assert_int_equal(port, 7174);
	assert_int_equal(req->local_qpn, 0x5d);
	assert_int_equal(req->starting_psn, 0x985f9c);
	assert_int_equal(req->remote_response_timeout, 20);
	assert_int_equal(req->local_response_timeout, 20);
	assert_int_equal(req->max_cm_retries, 15);
	assert_int_equal(req->retry_count, 7);
	assert_int_equal(req->path_mtu, 3);
	assert_int_equal(req->primary_flow_label, 0x626df);
	assert_int_equal(req->primary_hop_limit, 64);
	assert_int_equal(req->primary_ack_timeout, 19);
	assert_int_equal(rep->remote_comm_id, req->local_comm_id);
	assert_int_equal(rep->local_qpn, 0x5d);
	assert_int_equal(rep->target_ack_delay, 15);
	assert_int_equal(rep->rnr_retry_count, 7);
	assert_int_equal(dreq->local_comm_id, req->local_comm_id);
	assert_int_equal(dreq->remote_comm_id, rep->local_comm_id);
	assert_int_equal(dreq->remote_qpn, rep->local_qpn);
}

/* The first packet that the active side sends has the PSN of the REP: 12.7.26. */
static void test_whose_psn_it_is(void **state)
{
	struct rnic_cm_message messages[MESSAGES_MAX];
	struct pcap_reader reader;
	const uint8_t *ip;
	size_t ip_bytes;
	bool is_found = false;

	(void)state;
	read_messages("cm_rping", messages);
	pcap_reader_open(&reader, GOLDEN_DIRECTORY "/cm_rping.pcap");
	while (!is_found && pcap_reader_next(&reader, &ip, &ip_bytes)) {
		struct rnic_datagram datagram;
		struct rnic_packet packet;

		assert_int_equal(rnic_datagram_decode(&datagram, ip, ip_bytes), 0);
		assert_int_equal(rnic_packet_decode(&packet, &datagram.addresses, datagram.payload,
						    datagram.payload_bytes),
				 0);
		if (packet.dest_qpn == RNIC_MAD_QPN)
			continue;
		is_found = true;
		assert_memory_equal(&packet.addresses.source, messages[0].req.primary_local_gid,
				    16);
		assert_int_equal(packet.psn.value, messages[1].rep.starting_psn);
	}
	pcap_reader_close(&reader);
	assert_true(is_found);
}

static void test_refusals_and_datagrams(void **state)
{
	struct rnic_cm_message messages[MESSAGES_MAX];
	struct rnic_ip_cm addresses;

	(void)state;
	read_messages("cm_reject_no_listener", messages);
	assert_int_equal(messages[1].rej.remote_comm_id, messages[0].req.local_comm_id);
	assert_int_equal(messages[1].rej.message, RNIC_CM_ABOUT_REQ);
	assert_int_equal(messages[1].rej.reason, RNIC_CM_REJECT_INVALID_SERVICE_ID);
	assert_int_equal(rnic_ip_cm_decode(&addresses, messages[0].req.private_data), 0);
	assert_int_equal(addresses.source_port, 0x830d);
	assert_memory_equal(addresses.dest.bytes, messages[0].req.primary_remote_gid, 16);

	read_messages("cm_udaddy", messages);
	assert_int_equal(messages[0].sidr_req.pkey, 0xffff);
	assert_int_equal(messages[1].sidr_rep.request_id, messages[0].sidr_req.request_id);
	assert_int_equal(messages[1].sidr_rep.status, RNIC_CM_SIDR_SUCCESS);
	assert_int_equal(messages[1].sidr_rep.qpn, 0x5c);
	assert_int_equal(messages[1].sidr_rep.qkey, 0x01234567);
	assert_int_equal(messages[1].sidr_rep.service_id, messages[0].sidr_req.service_id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversations),
		cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_whose_psn_it_is),
		cmocka_unit_test(test_refusals_and_datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
