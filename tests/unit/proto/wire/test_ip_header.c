/* SPDX-License-Identifier: MIT */
#include "proto/wire/ip_header.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

static const uint8_t payload[16] = {0x04, 0x00, 0xff, 0xff, 0, 0, 0, 0x11,
				    0x80, 0,	0,    1,    1, 2, 3, 4};

/* 192.0.2.2 to 192.0.2.3, identification 0x1234, traffic class 0x6a. */
static const uint8_t ipv4_image[RNIC_IPV4_HEADER_BYTES + RNIC_UDP_HEADER_BYTES] = {
	0x45, 0x6a, 0x00, 0x2c, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0xa4, 0x1d, 0xc0, 0x00,
	0x02, 0x02, 0xc0, 0x00, 0x02, 0x03, 0xc8, 0x44, 0x12, 0xb7, 0x00, 0x18, 0x18, 0xa4,
};

/* 2001:db8:4791::2 to ::3, with the UDP checksum that IPv6 wants. */
static const uint8_t ipv6_image[RNIC_IPV6_HEADER_BYTES + RNIC_UDP_HEADER_BYTES] = {
	0x66, 0xa0, 0x00, 0x00, 0x00, 0x18, 0x11, 0x40, 0x20, 0x01, 0x0d, 0xb8,
	0x47, 0x91, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
	0x20, 0x01, 0x0d, 0xb8, 0x47, 0x91, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x03, 0xc8, 0x44, 0x12, 0xb7, 0x00, 0x18, 0xb2, 0x10,
};

static struct rnic_addresses ipv4_addresses(void)
{
	static const uint8_t source[4] = {192, 0, 2, 2}, dest[4] = {192, 0, 2, 3};

	return (struct rnic_addresses){
		.source = rnic_gid_from_ipv4(source),
		.dest = rnic_gid_from_ipv4(dest),
		.source_port = 51268,
		.traffic_class = 0x6a,
		.hop_limit = 64,
	};
}

static struct rnic_addresses ipv6_addresses(void)
{
	static const uint8_t source[16] = {0x20, 0x01, 0x0d, 0xb8, 0x47, 0x91, [15] = 2};
	static const uint8_t dest[16] = {0x20, 0x01, 0x0d, 0xb8, 0x47, 0x91, [15] = 3};

	return (struct rnic_addresses){
		.source = rnic_gid_from_ipv6(source),
		.dest = rnic_gid_from_ipv6(dest),
		.source_port = 51268,
		.traffic_class = 0x6a,
		.hop_limit = 64,
	};
}

static size_t write_image(const struct rnic_addresses *addresses, uint8_t *out)
{
	size_t ip_bytes = rnic_ip_header_write(addresses, 0x1234, sizeof(payload), out);

	rnic_udp_header_write(addresses, rnic_udp_checksum(addresses, payload, sizeof(payload)),
			      sizeof(payload), out + ip_bytes);
	return ip_bytes + RNIC_UDP_HEADER_BYTES;
}

static void test_images(void **state)
{
	struct rnic_addresses ipv4 = ipv4_addresses(), ipv6 = ipv6_addresses();
	uint8_t image[RNIC_IPV6_HEADER_BYTES + RNIC_UDP_HEADER_BYTES];

	(void)state;
	assert_true(rnic_addresses_are_ipv4(&ipv4));
	assert_int_equal(write_image(&ipv4, image), sizeof(ipv4_image));
	assert_memory_equal(image, ipv4_image, sizeof(ipv4_image));
	assert_false(rnic_addresses_are_ipv4(&ipv6));
	assert_int_equal(write_image(&ipv6, image), sizeof(ipv6_image));
	assert_memory_equal(image, ipv6_image, sizeof(ipv6_image));
}

static void test_image_without_a_sum(void **state)
{
	struct rnic_addresses ipv4 = ipv4_addresses();
	uint8_t image[RNIC_IPV4_HEADER_BYTES], expected[RNIC_IPV4_HEADER_BYTES];

	(void)state;
	memset(image, 0xff, sizeof(image));
	memcpy(expected, ipv4_image, sizeof(expected));
	expected[10] = expected[11] = 0;
	assert_int_equal(rnic_ip_header_write_unsummed(&ipv4, 0x1234, sizeof(payload), image),
			 sizeof(image));
	assert_memory_equal(image, expected, sizeof(expected));
}

/* A sum that comes out as 0 is sent as 0xffff, for 0 means that there is none. */
static void test_udp_checksum_is_never_zero(void **state)
{
	struct rnic_addresses addresses = ipv4_addresses();
	uint8_t bytes[3] = {0};
	uint16_t checksum = rnic_udp_checksum(&addresses, bytes, 2);

	(void)state;
	bytes[0] = (uint8_t)(checksum >> 8);
	bytes[1] = (uint8_t)checksum;
	assert_int_equal(rnic_udp_checksum(&addresses, bytes, 2), UINT16_MAX);
	assert_int_not_equal(rnic_udp_checksum(&addresses, bytes, 3), 0);
}

static void test_grh(void **state)
{
	struct rnic_addresses ipv4 = ipv4_addresses(), ipv6 = ipv6_addresses();
	static const uint8_t zeros[20];
	uint8_t grh[RNIC_GRH_BYTES], expected[RNIC_IPV4_HEADER_BYTES];

	(void)state;
	memset(grh, 0xff, sizeof(grh));
	rnic_grh_write(&ipv4, sizeof(payload), grh);
	rnic_ip_header_write(&ipv4, 0, sizeof(payload), expected);
	assert_memory_equal(grh, zeros, sizeof(zeros));
	assert_memory_equal(grh + sizeof(zeros), expected, sizeof(expected));
	rnic_grh_write(&ipv6, sizeof(payload), grh);
	assert_memory_equal(grh, ipv6_image, RNIC_IPV6_HEADER_BYTES);
}

static void test_grh_is_read_back(void **state)
{
	const struct rnic_addresses rows[] = {ipv4_addresses(), ipv6_addresses()};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct rnic_addresses wanted = rows[i], found;
		uint8_t grh[RNIC_GRH_BYTES];

		rnic_grh_write(&wanted, sizeof(payload), grh);
		rnic_grh_read(grh, &found);
		wanted.source_port = 0;
		assert_memory_equal(&found, &wanted, sizeof(found));
	}
}

static void check_decode(const uint8_t *image, size_t image_bytes,
			 const struct rnic_addresses *addresses)
{
	uint8_t bytes[128] = {0};
	struct rnic_datagram datagram;

	memcpy(bytes, image, image_bytes);
	memcpy(bytes + image_bytes, payload, sizeof(payload));
	/* Ethernet pads short frames: bytes behind the IP packet are no part of it. */
	assert_int_equal(rnic_datagram_decode(&datagram, bytes, image_bytes + sizeof(payload) + 6),
			 0);
	assert_memory_equal(&datagram.addresses, addresses, sizeof(*addresses));
	assert_int_equal(datagram.dest_port, RNIC_UDP_PORT);
	assert_ptr_equal(datagram.payload, bytes + image_bytes);
	assert_int_equal(datagram.payload_bytes, sizeof(payload));
	for (size_t cut = 0; cut < image_bytes + sizeof(payload); cut++) {
		uint8_t *copy = malloc(cut == 0 ? 1 : cut);

		assert_non_null(copy);
		memcpy(copy, bytes, cut);
		assert_int_equal(rnic_datagram_decode(&datagram, copy, cut), -EBADMSG);
		free(copy);
	}
}

static void test_decode(void **state)
{
	struct rnic_addresses ipv4 = ipv4_addresses(), ipv6 = ipv6_addresses();

	(void)state;
	check_decode(ipv4_image, sizeof(ipv4_image), &ipv4);
	check_decode(ipv6_image, sizeof(ipv6_image), &ipv6);
}

static void test_decode_refusals(void **state)
{
	static const struct {
		bool ipv6;
		size_t at;
		uint8_t value;
		int error;
	} cases[] = {
		{false, 0, 0x55, -EPROTONOSUPPORT}, /* no IP version */
		{false, 0, 0x46, -EPROTONOSUPPORT}, /* options */
		{false, 9, 6, -EPROTONOSUPPORT},    /* TCP */
		{false, 7, 1, -EPROTONOSUPPORT},    /* a later fragment */
		{false, 3, 27, -EBADMSG},	    /* no room for UDP */
		{false, 3, 45, -EBADMSG},	    /* beyond the bytes */
		{false, 25, 7, -EBADMSG},	    /* UDP shorter than its header */
		{false, 25, 25, -EBADMSG},	    /* UDP beyond the IP packet */
		{true, 6, 0, -EPROTONOSUPPORT},	    /* an extension header */
		{true, 5, 7, -EBADMSG},		    /* no room for UDP */
		{true, 5, 25, -EBADMSG},	    /* beyond the bytes */
		{true, 45, 25, -EBADMSG},	    /* UDP beyond the IP packet */
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		size_t image_bytes = cases[i].ipv6 ? sizeof(ipv6_image) : sizeof(ipv4_image);
		struct rnic_datagram datagram;
		uint8_t bytes[128] = {0};

		memcpy(bytes, cases[i].ipv6 ? ipv6_image : ipv4_image, image_bytes);
		bytes[cases[i].at] = cases[i].value;
		assert_int_equal(
			rnic_datagram_decode(&datagram, bytes, image_bytes + sizeof(payload)),
			cases[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_image_without_a_sum),
		cmocka_unit_test(test_udp_checksum_is_never_zero),
		cmocka_unit_test(test_grh),
		cmocka_unit_test(test_grh_is_read_back),
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_decode_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
