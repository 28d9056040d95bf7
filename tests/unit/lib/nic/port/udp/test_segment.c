/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/segment.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "tests/unit/unit_test.h"

#define COUNT 80

static struct rnic_gid gid_of(uint8_t host)
{
	uint8_t address[4] = {192, 0, 2, host};

	return rnic_gid_from_ipv4(address);
}

static void fill(struct datagram datagrams[COUNT], uint32_t length)
{
	static uint8_t bytes[RNIC_BTH_BYTES];

	for (uint32_t i = 0; i < COUNT; i++)
		datagrams[i] = (struct datagram){
			.addresses = {.source = gid_of(1), .dest = gid_of(2)},
			.bytes = bytes,
			.length = length,
		};
}

static void test_gso_batch_by_lengths(void **state)
{
	static const struct {
		uint32_t lengths[6]; /* ends with 0 */
		uint32_t gso_batch;
	} cases[] = {
		{{100}, 1},	      {{100, 100, 100}, 3},	     {{100, 100, 50}, 3},
		{{100, 50, 50}, 2},   {{100, 50, 100}, 2},	     {{100, 104, 100}, 1},
		{{100, 100, 104}, 2}, {{4124, 4108, 4108, 4108}, 2}, {{4108, 4108, 4112}, 2},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct datagram datagrams[COUNT];
		uint32_t count = 0;

		fill(datagrams, 0);
		while (cases[i].lengths[count] != 0) {
			datagrams[count].length = cases[i].lengths[count];
			count++;
		}
		assert_int_equal(segment_gso_batch_length(datagrams, count), cases[i].gso_batch);
	}
}

/* No batch crosses from one destination lane into another; all below the first lane are one. */
static void test_gso_batch_by_lanes(void **state)
{
	static const struct {
		uint8_t tops[4];
		uint32_t gso_batch;
	} cases[] = {
		{{0x80, 0x80, 0x80, 0x80}, 4}, {{0x80, 0x80, 0x81, 0x80}, 2},
		{{0x00, 0x7f, 0x12, 0x80}, 3}, {{0x80, 0x88, 0x80, 0x80}, 1},
		{{0xff, 0xfe, 0xff, 0xff}, 1},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct datagram datagrams[COUNT];
		uint8_t bytes[4][RNIC_BTH_BYTES] = {0};

		fill(datagrams, 100);
		for (uint32_t j = 0; j < 4; j++) {
			bytes[j][5] = cases[i].tops[j];
			datagrams[j].bytes = bytes[j];
		}
		assert_int_equal(segment_gso_batch_length(datagrams, 4), cases[i].gso_batch);
	}
}

static void test_gso_batch_limits(void **state)
{
	static const struct {
		uint32_t length, gso_batch;
	} cases[] = {
		{12, 64},   /* segments */
		{1011, 64}, /* 64 * 1015 = 64960 */
		{1012, 63}, /* 64 * 1016 = 65024 */
		{4108, 15}, /* 15 * 4112 = 61680 */
		{32496, 2}, /* 2 * 32500 = 65000 */
		{32497, 1},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct datagram datagrams[COUNT];

		fill(datagrams, cases[i].length);
		assert_int_equal(segment_gso_batch_length(datagrams, COUNT), cases[i].gso_batch);
		assert_int_equal(segment_gso_batch_length(datagrams, 1), 1);
	}
}

static void test_gso_batch_by_addresses(void **state)
{
	struct datagram datagrams[COUNT];

	(void)state;
	fill(datagrams, 100);
	datagrams[3].addresses.dest = gid_of(3);
	assert_int_equal(segment_gso_batch_length(datagrams, COUNT), 3);
	fill(datagrams, 100);
	datagrams[4].addresses.source = gid_of(3);
	assert_int_equal(segment_gso_batch_length(datagrams, COUNT), 4);
	fill(datagrams, 100);
	datagrams[5].addresses.traffic_class = 8;
	assert_int_equal(segment_gso_batch_length(datagrams, COUNT), 5);
	fill(datagrams, 100);
	datagrams[6].addresses.hop_limit = 1;
	assert_int_equal(segment_gso_batch_length(datagrams, COUNT), 6);
	fill(datagrams, 100);
	datagrams[7].addresses.source_port = 1; /* the socket's will be sent */
	assert_int_equal(segment_gso_batch_length(datagrams, COUNT), 64);
}

static void test_seal_and_unseal(void **state)
{
	uint8_t bytes[3][24] = {0}, once[3][24];
	struct datagram datagrams[3];

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		datagrams[i] = (struct datagram){
			.addresses = {.source = gid_of(1), .dest = gid_of(2), .source_port = 9},
			.bytes = bytes[i],
			.length = 20,
		};
	datagrams[1].addresses.hop_limit = 3;
	datagrams[2].damage = 1 + 8 * 22 + 7; /* in the ICRC itself */
	segment_seal(datagrams, 3, 4791);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t icrc =
			rnic_icrc_compute(&datagrams[i].addresses, (uint16_t)i, bytes[i], 20);
		uint8_t expected[4];

		rnic_icrc_write(expected, icrc);
		if (i == 2)
			expected[2] ^= 0x80;
		assert_memory_equal(bytes[i] + 20, expected, 4);
		assert_int_equal(datagrams[i].addresses.source_port, 4791);
		assert_int_equal(datagrams[i].addresses.hop_limit,
				 i == 1 ? 3 : SEGMENT_HOP_LIMIT_DEFAULT);
	}

	/* Unsealed and sealed again, the datagram is the same; damage does not undo itself. */
	memcpy(once, bytes, sizeof(once));
	segment_unseal(datagrams, 3);
	segment_seal(datagrams, 3, 4791);
	assert_memory_equal(once, bytes, sizeof(once));
}

static void note_sent(void *context, const struct datagram *datagram, uint16_t ipv4_identification,
		      uint64_t now_ns)
{
	uint32_t *calls = context;

	assert_int_equal(ipv4_identification, *calls);
	assert_int_equal(datagram->length, 100 + *calls);
	assert_int_equal(now_ns, 77);
	++*calls;
}

static void test_report(void **state)
{
	struct datagram datagrams[3] = {{.length = 100}, {.length = 101}, {.length = 102}};
	uint32_t calls = 0;
	struct segment_sink sink = {note_sent, &calls};

	(void)state;
	segment_report(&sink, datagrams, 3, 77);
	assert_int_equal(calls, 3);
	segment_report(NULL, datagrams, 3, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gso_batch_by_lengths),
		cmocka_unit_test(test_gso_batch_by_lanes),
		cmocka_unit_test(test_gso_batch_limits),
		cmocka_unit_test(test_gso_batch_by_addresses),
		cmocka_unit_test(test_seal_and_unseal),
		cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
