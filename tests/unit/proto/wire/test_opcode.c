/* SPDX-License-Identifier: MIT */
#include "proto/wire/opcode.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

/* The lengths are sums of the header sizes in IBTA 1.4, 9.2 and 9.3, spelled out. */
static const struct {
	uint8_t opcode;
	const char *name;
	uint8_t header_bytes;
	uint8_t payload;
	bool is_request;
} known[] = {
	{0x00, "RC SEND FIRST", 12, RNIC_PAYLOAD_FULL, true},
	{0x03, "RC SEND LAST IMM", 12 + 4, RNIC_PAYLOAD_LAST, true},
	{0x04, "RC SEND ONLY", 12, RNIC_PAYLOAD_ONLY, true},
	{0x06, "RC WRITE FIRST", 12 + 16, RNIC_PAYLOAD_FULL, true},
	{0x09, "RC WRITE LAST IMM", 12 + 4, RNIC_PAYLOAD_LAST, true},
	{0x0b, "RC WRITE ONLY IMM", 12 + 16 + 4, RNIC_PAYLOAD_ONLY, true},
	{0x0c, "RC READ REQUEST", 12 + 16, RNIC_PAYLOAD_NONE, true},
	{0x0d, "RC READ RESPONSE FIRST", 12 + 4, RNIC_PAYLOAD_FULL, false},
	{0x0e, "RC READ RESPONSE MIDDLE", 12, RNIC_PAYLOAD_FULL, false},
	{0x0f, "RC READ RESPONSE LAST", 12 + 4, RNIC_PAYLOAD_LAST, false},
	{0x10, "RC READ RESPONSE ONLY", 12 + 4, RNIC_PAYLOAD_ONLY, false},
	{0x11, "RC ACKNOWLEDGE", 12 + 4, RNIC_PAYLOAD_NONE, false},
	{0x12, "RC ATOMIC ACKNOWLEDGE", 12 + 4 + 8, RNIC_PAYLOAD_NONE, false},
	{0x13, "RC COMPARE SWAP", 12 + 28, RNIC_PAYLOAD_NONE, true},
	{0x14, "RC FETCH ADD", 12 + 28, RNIC_PAYLOAD_NONE, true},
	{0x16, "RC SEND LAST INVALIDATE", 12 + 4, RNIC_PAYLOAD_LAST, true},
	{0x17, "RC SEND ONLY INVALIDATE", 12 + 4, RNIC_PAYLOAD_ONLY, true},
	{0x1c, "RC FLUSH", 12 + 4 + 16, RNIC_PAYLOAD_NONE, true},
	{0x1d, "RC ATOMIC WRITE", 12 + 16, RNIC_PAYLOAD_EIGHT, true},
	{0x2a, "UC WRITE ONLY", 12 + 16, RNIC_PAYLOAD_ONLY, true},
	{0x64, "UD SEND ONLY", 12 + 8, RNIC_PAYLOAD_ONLY, true},
	{0x65, "UD SEND ONLY IMM", 12 + 8 + 4, RNIC_PAYLOAD_ONLY, true},
	{0x81, "CNP", 12 + 16, RNIC_PAYLOAD_NONE, false},
	{0xc0, "HOLES", 12, RNIC_PAYLOAD_ONLY, false},
	{0xa0, "XRC SEND FIRST", 12 + 4, RNIC_PAYLOAD_FULL, true},
	{0xab, "XRC WRITE ONLY IMM", 12 + 4 + 16 + 4, RNIC_PAYLOAD_ONLY, true},
	{0xb1, "XRC ACKNOWLEDGE", 12 + 4, RNIC_PAYLOAD_NONE, false},
	{0xb3, "XRC COMPARE SWAP", 12 + 4 + 28, RNIC_PAYLOAD_NONE, true},
};

static void test_known_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(known); i++) {
		const struct rnic_opcode *row = rnic_opcode_row(known[i].opcode);

		assert_string_equal(row->name, known[i].name);
		assert_int_equal(row->header_bytes, known[i].header_bytes);
		assert_int_equal(row->payload, known[i].payload);
		assert_int_equal(row->is_request, known[i].is_request);
	}
}

static bool is_defined(int opcode)
{
	int low = opcode & 31;

	switch (opcode >> 5) {
	case RNIC_SERVICE_RC:
	case RNIC_SERVICE_XRC:
		return low <= 0x14 || low == 0x16 || low == 0x17 || low == 0x1c || low == 0x1d;
	case RNIC_SERVICE_UC:
		return low <= 0x0b;
	case RNIC_SERVICE_UD:
		return low == 4 || low == 5;
	case RNIC_SERVICE_CNP:
		return low == 1;
	case RNIC_SERVICE_MANUFACTURER:
		return low == 0;
	default:
		return false;
	}
}

static void test_every_row(void **state)
{
	(void)state;
	for (int opcode = 0; opcode < 256; opcode++) {
		const struct rnic_opcode *row = rnic_opcode_row((uint8_t)opcode);

		if (!is_defined(opcode)) {
			assert_int_equal(row->operation, RNIC_OPERATION_NONE);
			assert_string_equal(row->name, "reserved");
			continue;
		}
		assert_int_not_equal(row->operation, RNIC_OPERATION_NONE);
		assert_int_equal(row->service, opcode >> 5);
		assert_int_equal(
			rnic_opcode_find(row->service, row->operation, row->position, row->headers),
			opcode);
		if (row->service == RNIC_SERVICE_XRC)
			assert_int_equal((row->headers & RNIC_HEADER_XRCETH) != 0, row->is_request);
	}
}

static void test_find_refuses(void **state)
{
	(void)state;
	assert_int_equal(rnic_opcode_find(RNIC_SERVICE_UC, RNIC_OPERATION_READ_REQUEST,
					  RNIC_POSITION_ONLY, 0),
			 -1);
	assert_int_equal(
		rnic_opcode_find(RNIC_SERVICE_UD, RNIC_OPERATION_SEND, RNIC_POSITION_FIRST, 0), -1);
	assert_int_equal(rnic_opcode_find(RNIC_SERVICE_RC, RNIC_OPERATION_SEND, RNIC_POSITION_FIRST,
					  RNIC_HEADER_IMMEDIATE),
			 -1);
	assert_int_equal(rnic_opcode_find(RNIC_SERVICE_UC, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY,
					  RNIC_HEADER_INVALIDATE),
			 -1);
	assert_int_equal(
		rnic_opcode_find(RNIC_SERVICE_RC, RNIC_OPERATION_NONE, RNIC_POSITION_FIRST, 0), -1);
	assert_int_equal(rnic_opcode_find(RNIC_SERVICE_RC, RNIC_OPERATION_ACKNOWLEDGE,
					  RNIC_POSITION_MIDDLE, 0),
			 -1);
	assert_int_equal(rnic_opcode_find(RNIC_SERVICE_RC, RNIC_OPERATION_WRITE, RNIC_POSITION_LAST,
					  RNIC_HEADER_INVALIDATE),
			 -1);
	assert_int_equal(rnic_opcode_find(RNIC_SERVICE_RC, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY,
					  RNIC_HEADER_IMMEDIATE | RNIC_HEADER_INVALIDATE),
			 -1);
}

static void test_find_ignores_other_headers(void **state)
{
	(void)state;
	assert_int_equal(rnic_opcode_find(RNIC_SERVICE_RC, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY,
					  RNIC_HEADER_IMMEDIATE | RNIC_HEADER_AETH),
			 0x0b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_rows),
		cmocka_unit_test(test_every_row),
		cmocka_unit_test(test_find_refuses),
		cmocka_unit_test(test_find_ignores_other_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
