/* SPDX-License-Identifier: MIT */
#include "proto/mad/ip_cm.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

static const uint8_t ipv4_bytes[RNIC_IP_CM_BYTES] = {
	0, 0x40, 0xb6, 0x07, [16] = 192, 0, 2, 2, [32] = 192, 0, 2, 3,
};

static const uint8_t ipv6_bytes[RNIC_IP_CM_BYTES] = {
	0, 0x60, 0xbb, 0x06, 0x20, 0x01, 0x0d, 0xb8, [19] = 2, 0x20, 0x01, 0x0d, 0xb8, [35] = 3,
};

static void test_ipv4(void **state)
{
	const struct rnic_gid source = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 2});
	const struct rnic_gid dest = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 3});
	uint8_t encoded[RNIC_IP_CM_BYTES];
	struct rnic_ip_cm header;

	(void)state;
	assert_int_equal(rnic_ip_cm_decode(&header, ipv4_bytes), 0);
	assert_true(rnic_gid_equal(&header.source, &source));
	assert_true(rnic_gid_equal(&header.dest, &dest));
	assert_int_equal(header.source_port, 0xb607);
	rnic_ip_cm_encode(&header, encoded);
	assert_memory_equal(encoded, ipv4_bytes, sizeof(encoded));
}

static void test_ipv6(void **state)
{
	uint8_t encoded[RNIC_IP_CM_BYTES];
	struct rnic_ip_cm header;

	(void)state;
	assert_int_equal(rnic_ip_cm_decode(&header, ipv6_bytes), 0);
	assert_memory_equal(header.source.bytes, ipv6_bytes + 4, 16);
	assert_memory_equal(header.dest.bytes, ipv6_bytes + 20, 16);
	rnic_ip_cm_encode(&header, encoded);
	assert_memory_equal(encoded, ipv6_bytes, sizeof(encoded));
}

static void test_what_is_no_header(void **state)
{
	static const struct {
		uint8_t version;
		uint8_t ip_version;
	} cases[] = {{1, 0x40}, {0x10, 0x40}, {0, 0x00}, {0, 0x50}, {0, 0x04}, {0, 0xf0}};
	struct rnic_ip_cm header;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		uint8_t bytes[RNIC_IP_CM_BYTES] = {cases[i].version, cases[i].ip_version};

		memset(&header, 0x5a, sizeof(header));
		assert_int_equal(rnic_ip_cm_decode(&header, bytes), -EPROTO);
		assert_int_equal(header.source_port, 0x5a5a);
	}
}

static void test_service_ids(void **state)
{
	static const struct {
		uint64_t id;
		bool is_port;
		uint16_t port_space;
		uint16_t port;
	} cases[] = {
		{0x01061c06, true, RNIC_PORT_SPACE_TCP, 7174},
		{0x01111c06, true, RNIC_PORT_SPACE_UDP, 7174},
		{0x013fffff, true, RNIC_PORT_SPACE_IB, 65535},
		{0x00020001, true, RNIC_PORT_SPACE_IPOIB, 1},
		{0x01070001, false, 0, 0},
		{UINT64_C(0x1000001061c06), false, 0, 0},
		{UINT64_MAX, false, 0, 0},
		{0, false, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		uint16_t port_space = 0, port = 0;

		assert_int_equal(rnic_service_id_split(cases[i].id, &port_space, &port),
				 cases[i].is_port);
		assert_int_equal(port_space, cases[i].port_space);
		assert_int_equal(port, cases[i].port);
		if (cases[i].is_port)
			assert_true(rnic_service_id(port_space, port) == cases[i].id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_what_is_no_header),
		cmocka_unit_test(test_service_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
