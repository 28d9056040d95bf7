/* SPDX-License-Identifier: MIT */
/* Packets of Linux rxe decode, encode again byte for byte, and have the ICRC that we compute. */
#include "tests/unit/proto/wire/pcap_reader.h"

#include "proto/base/bits.h"
#include "proto/wire/icrc.h"
#include "proto/wire/ip_header.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>

static const struct golden_file {
	const char *name;
	int packet_count;
} golden_files[] = {
	{"cm_reject_no_listener", 2},
	{"cm_rping", 29},
	{"cm_rping_v6", 29},
	{"cm_udaddy", 8},
	{"loss_ack_send", 10},
	{"loss_atomic_ack", 8},
	{"loss_read_response", 17},
	{"mtu4096_rc_ops", 19},
	{"mtu4096_uc_ud", 2},
	{"rc_atomic", 8},
	{"rc_mixed_burst", 26},
	{"rc_mtu256", 12},
	{"rc_mtu512", 12},
	{"rc_nak_badrkey_read", 4},
	{"rc_nak_badrkey_write", 4},
	{"rc_nak_past_end_write", 2},
	{"rc_nak_send_too_long", 5},
	{"rc_psn_wrap", 20},
	{"rc_read_sizes", 17},
	{"rc_rnr_retry_exhaust", 8},
	{"rc_send_inv", 2},
	{"rc_send_sizes", 35},
	{"rc_tclass_hop", 6},
	{"rc_write_imm", 14},
	{"rc_write_sizes", 21},
	{"uc_ops", 17},
	{"ud_ops", 7},
	{"v6_rc_ops", 14},
	{"v6_uc_ops", 4},
	{"v6_ud_ops", 3},
};

/* Opcodes that the set must contain, so that a lost capture does not pass unseen. */
static const uint8_t covered_opcodes[] = {
	0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b,
	0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x17, 0x20, 0x21,
	0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x64, 0x65,
};

/* The packets of corrupt_requester, counted from 1, in which bits were flipped under way. */
static const int damaged_packets[] = {4, 22, 23, 31, 55};

static void open_golden(struct pcap_reader *reader, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.pcap", GOLDEN_DIRECTORY, name);
	pcap_reader_open(reader, path);
}

/* Our. */
static void check_ip_header(const struct rnic_datagram *datagram, const uint8_t *ip)
{
	uint8_t image[RNIC_IPV6_HEADER_BYTES + RNIC_UDP_HEADER_BYTES];
	size_t ip_bytes = rnic_ip_header_write(&datagram->addresses, datagram->identification,
					       datagram->payload_bytes, image);

	rnic_udp_header_write(&datagram->addresses, datagram->udp_checksum, datagram->payload_bytes,
			      image + ip_bytes);
	assert_memory_equal(image, ip, ip_bytes + RNIC_UDP_HEADER_BYTES);
}

static uint8_t check_packet(const uint8_t *ip, size_t ip_bytes)
{
	uint8_t encoded[RNIC_PACKET_BYTES_MAX] = {0};
	struct rnic_datagram datagram;
	struct rnic_packet packet;
	enum rnic_icrc_verdict verdict;
	uint16_t identification = 0;
	size_t header_bytes;

	assert_int_equal(rnic_datagram_decode(&datagram, ip, ip_bytes), 0);
	assert_int_equal(datagram.dest_port, RNIC_UDP_PORT);
	check_ip_header(&datagram, ip);
	assert_int_equal(rnic_packet_decode(&packet, &datagram.addresses, datagram.payload,
					    datagram.payload_bytes),
			 0);

	header_bytes = rnic_packet_encode_headers(&packet, encoded);
	assert_ptr_equal(packet.payload, datagram.payload + header_bytes);
	memcpy(encoded + header_bytes, packet.payload, packet.payload_bytes);
	rnic_icrc_write(encoded + rnic_packet_bytes(&packet),
			rnic_icrc_compute(&datagram.addresses, datagram.identification, encoded,
					  rnic_packet_bytes(&packet)));
	assert_int_equal(rnic_packet_bytes(&packet) + RNIC_ICRC_BYTES, datagram.payload_bytes);
	assert_memory_equal(encoded, datagram.payload, datagram.payload_bytes);

	verdict = rnic_icrc_check(&datagram.addresses, datagram.payload, datagram.payload_bytes,
				  &identification);
	assert_int_equal(verdict,
			 datagram.identification == 0 ? RNIC_ICRC_GOOD : RNIC_ICRC_GOOD_FOR_ID);
	assert_int_equal(identification, datagram.identification);
	return packet.opcode;
}

static void test_undamaged(void **state)
{
	bool seen[256] = {false};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(golden_files); i++) {
		struct pcap_reader reader;
		const uint8_t *ip;
		size_t ip_bytes;
		int count = 0;

		open_golden(&reader, golden_files[i].name);
		for (; pcap_reader_next(&reader, &ip, &ip_bytes); count++)
			seen[check_packet(ip, ip_bytes)] = true;
		assert_int_equal(count, golden_files[i].packet_count);
		pcap_reader_close(&reader);
	}
	for (size_t i = 0; i < RNIC_COUNT_OF(covered_opcodes); i++)
		assert_true(seen[covered_opcodes[i]]);
}

static bool is_damaged(int packet_number)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(damaged_packets); i++)
		if (damaged_packets[i] == packet_number)
			return true;
	return false;
}

static void test_damaged(void **state)
{
	struct pcap_reader reader;
	const uint8_t *ip;
	size_t ip_bytes;
	int count = 0;

	(void)state;
	open_golden(&reader, "corrupt_requester");
	while (pcap_reader_next(&reader, &ip, &ip_bytes)) {
		struct rnic_datagram datagram;
		enum rnic_icrc_verdict verdict;

		count++;
		if (!is_damaged(count)) {
			check_packet(ip, ip_bytes);
			continue;
		}
		assert_int_equal(rnic_datagram_decode(&datagram, ip, ip_bytes), 0);
		verdict = rnic_icrc_check(&datagram.addresses, datagram.payload,
					  datagram.payload_bytes, NULL);
		assert_int_equal(verdict, RNIC_ICRC_BAD);
	}
	assert_int_equal(count, 70);
	pcap_reader_close(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_undamaged),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
