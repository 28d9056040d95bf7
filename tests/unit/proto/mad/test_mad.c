/* SPDX-License-Identifier: MIT */
#include "proto/mad/mad.h"
#include "tests/unit/unit_test.h"

static void test_every_field_has_its_bytes(void **state)
{
	static const uint8_t bytes[RNIC_MAD_HEADER_BYTES] = {
		0x01, 0x07, 0x02, 0x03, 0x11, 0x22, 0x33, 0x44, 0x51, 0x52, 0x53, 0x54,
		0x55, 0x56, 0x57, 0x58, 0x00, 0x10, 0x00, 0x00, 0x61, 0x62, 0x63, 0x64,
	};
	uint8_t encoded[RNIC_MAD_HEADER_BYTES];
	struct rnic_mad_header header;

	(void)state;
	rnic_mad_header_decode(&header, bytes);
	assert_int_equal(header.base_version, 1);
	assert_int_equal(header.management_class, 7);
	assert_int_equal(header.class_version, 2);
	assert_int_equal(header.method, 3);
	assert_int_equal(header.status, 0x1122);
	assert_int_equal(header.class_specific, 0x3344);
	assert_true(header.transaction_id == UINT64_C(0x5152535455565758));
	assert_int_equal(header.attribute_id, 0x10);
	assert_int_equal(header.attribute_modifier, 0x61626364);
	memset(encoded, 0xff, sizeof(encoded));
	rnic_mad_header_encode(&header, encoded);
	assert_memory_equal(encoded, bytes, sizeof(bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field_has_its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
