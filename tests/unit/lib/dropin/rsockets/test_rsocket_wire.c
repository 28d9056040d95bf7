/* SPDX-License-Identifier: MIT */
#include "lib/dropin/rsockets/rsocket_wire.h"
#include "tests/unit/unit_test.h"

/* Version 1, map, 384 credits, 5 entries of the map; list of 2; buffer of 64 KiB. */
static const uint8_t greeting_bytes[RNIC_RSOCKET_GREETING_BYTES] = {
	1,    2,    0x01, 0x80, 0,    0,    0,	  5,	0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
	0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0,	  0,	0,    2,    0x31, 0x32, 0x33, 0x34,
	0x35, 0x36, 0x37, 0x38, 0x41, 0x42, 0x43, 0x44, 0,    1,    0,	  0,
};

static const struct rnic_rsocket_greeting greeting = {
	.credits = 384,
	.iomap_entries = 5,
	.list = {.address = 0x1112131415161718, .key = 0x21222324, .length = 2},
	.buffer = {.address = 0x3132333435363738, .key = 0x41424344, .length = 65536},
};

static void test_greeting_is_the_documented_bytes(void **state)
{
	uint8_t bytes[RNIC_RSOCKET_GREETING_BYTES];
	struct rnic_rsocket_greeting read;

	(void)state;
	rnic_rsocket_greeting_encode(&greeting, bytes);
	assert_memory_equal(bytes, greeting_bytes, sizeof(bytes));
	assert_int_equal(rnic_rsocket_greeting_decode(bytes, sizeof(bytes), &read), 0);
	assert_memory_equal(&read.list, &greeting.list, sizeof(read.list));
	assert_memory_equal(&read.buffer, &greeting.buffer, sizeof(read.buffer));
	assert_int_equal(read.credits, 384);
	assert_int_equal(read.iomap_entries, 5);
	assert_false(read.is_big_endian);
}

static void test_greeting_of_others_is_refused(void **state)
{
	static const struct {
		size_t at, length;
		uint8_t value;
		int error;
	} rows[] = {
		{0, 40, 2, -ENOTSUP}, /* version */
		{0, 39, 1, -EPROTO},  /* too short */
		{23, 40, 0, -EPROTO}, /* a list without entries */
		{1, 40, 1, 0},	      /* big-endian, no map */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t bytes[RNIC_RSOCKET_GREETING_BYTES];
		struct rnic_rsocket_greeting read;

		memcpy(bytes, greeting_bytes, sizeof(bytes));
		bytes[rows[i].at] = rows[i].value;
		assert_int_equal(rnic_rsocket_greeting_decode(bytes, rows[i].length, &read),
				 rows[i].error);
		if (rows[i].error == 0) {
			assert_true(read.is_big_endian);
			assert_int_equal(read.iomap_entries, 0);
		}
	}
	assert_int_equal(rnic_rsocket_greeting_decode(NULL, 40, NULL), -EPROTO);
}

static void test_size_of_a_map_has_eight_bits(void **state)
{
	static const struct {
		uint32_t wanted, got;
	} rows[] = {
		{0, 0}, {1, 1}, {128, 128}, {129, 128}, {256, 256}, {1000, 768}, {70000, 127 << 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(rnic_rsocket_iomap_entries(rows[i].wanted), rows[i].got);
}

static void test_message_is_kind_and_value(void **state)
{
	const uint32_t message = rnic_rsocket_message(RNIC_RSOCKET_CREDIT, 0x1234);

	(void)state;
	assert_int_equal(message, 0x80001234);
	assert_int_equal(rnic_rsocket_message_kind(message), RNIC_RSOCKET_CREDIT);
	assert_int_equal(rnic_rsocket_message_value(message), 0x1234);
	assert_int_equal(rnic_rsocket_message(RNIC_RSOCKET_CONTROL, RNIC_RSOCKET_SHUTDOWN),
			 0xe0000002);
}

static void test_entries_are_in_the_order_of_their_host(void **state)
{
	const struct rnic_rsocket_mapping mapping = {
		.offset = 0x0102030405060708,
		.target = {.address = 0x1112131415161718, .key = 0x21222324, .length = 0x31323334},
	};
	_Alignas(8) uint8_t ours[RNIC_RSOCKET_MAPPING_BYTES];
	_Alignas(8) uint8_t swapped[RNIC_RSOCKET_MAPPING_BYTES];
	struct rnic_rsocket_mapping read;

	(void)state;
	rnic_rsocket_mapping_encode(&mapping, false, ours);
	rnic_rsocket_mapping_encode(&mapping, true, swapped);
	read = rnic_rsocket_mapping_read(ours);
	assert_memory_equal(&read, &mapping, sizeof(read));
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(swapped[i], ours[7 - i]);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(swapped[20 + i], ours[23 - i]);
}

static void test_envelope_is_the_documented_bytes(void **state)
{
	static const uint8_t expected[16] = {0x55, 0x55, 0x55, 0x55, 4,	 7,  16, 0,
					     0,	   0x12, 0x34, 0x56, 10, 77, 0,	 2};
	const struct rnic_rsocket_envelope envelope = {
		.kind = RNIC_RSOCKET_ENVELOPE_REPLY,
		.qpn = 0x123456,
		.address = {.version = 4, .bytes = {10, 77, 0, 2}},
	};
	uint8_t bytes[RNIC_RSOCKET_ENVELOPE_MAX_BYTES];
	struct rnic_rsocket_envelope read;

	(void)state;
	assert_int_equal(rnic_rsocket_envelope_encode(&envelope, bytes), 16);
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_int_equal(rnic_rsocket_envelope_decode(bytes, 16, &read), 16);
	assert_int_equal(read.kind, envelope.kind);
	assert_int_equal(read.qpn, envelope.qpn);
	assert_memory_equal(&read.address, &envelope.address, sizeof(read.address));
	assert_int_equal(rnic_rsocket_envelope_decode(bytes, 15, &read), -EPROTO);
	for (size_t at = 0; at < 7; at++) {
		bytes[at] ^= 1;
		assert_int_equal(rnic_rsocket_envelope_decode(bytes, 16, &read), -EPROTO);
		bytes[at] ^= 1;
	}
}

static void test_label_is_the_documented_bytes(void **state)
{
	static const uint8_t expected[24] = {6, 24, 0x1c, 0x06, 0, 0, 0, 0, 0xfd, 0x77, 0, 0,
					     0, 0,  0,	  0,	0, 0, 0, 0, 0,	  0,	0, 2};
	const struct rnic_rsocket_label label = {
		.port = 7174,
		.address = {.version = 6, .bytes = {0xfd, 0x77, [15] = 2}},
	};
	uint8_t bytes[RNIC_RSOCKET_LABEL_MAX_BYTES];
	struct rnic_rsocket_label read;

	(void)state;
	assert_int_equal(rnic_rsocket_label_encode(&label, bytes), 24);
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_int_equal(rnic_rsocket_label_decode(bytes, 24, &read), 24);
	assert_int_equal(read.port, label.port);
	assert_memory_equal(&read.address, &label.address, sizeof(read.address));
	assert_int_equal(rnic_rsocket_label_decode(bytes, 23, &read), -EPROTO);
	bytes[0] = 4;
	assert_int_equal(rnic_rsocket_label_decode(bytes, 24, &read), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_greeting_is_the_documented_bytes),
		cmocka_unit_test(test_greeting_of_others_is_refused),
		cmocka_unit_test(test_size_of_a_map_has_eight_bits),
		cmocka_unit_test(test_message_is_kind_and_value),
		cmocka_unit_test(test_entries_are_in_the_order_of_their_host),
		cmocka_unit_test(test_envelope_is_the_documented_bytes),
		cmocka_unit_test(test_label_is_the_documented_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
