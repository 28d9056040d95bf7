/* SPDX-License-Identifier: MIT */
/* Each header against bytes written out by hand. */
#include "proto/wire/headers.h"
#include "tests/unit/unit_test.h"

static void test_bth(void **state)
{
	static const uint8_t bytes[RNIC_BTH_BYTES] = {0x0a, 0xb0, 0xff, 0xfe, 0x40, 0x12,
						      0x34, 0x56, 0x80, 0xab, 0xcd, 0xef};
	uint8_t reserved_set[RNIC_BTH_BYTES], encoded[RNIC_BTH_BYTES];
	struct rnic_bth bth;

	(void)state;
	memcpy(reserved_set, bytes, sizeof(bytes));
	reserved_set[4] |= 0x3f;
	reserved_set[8] |= 0x7f;
	assert_ptr_equal(rnic_bth_decode(&bth, reserved_set), reserved_set + RNIC_BTH_BYTES);
	assert_int_equal(bth.opcode, 0x0a);
	assert_true(bth.solicited);
	assert_false(bth.migrated);
	assert_int_equal(bth.pad_bytes, 3);
	assert_int_equal(bth.version, 0);
	assert_int_equal(bth.pkey, 0xfffe);
	assert_false(bth.fecn);
	assert_true(bth.becn);
	assert_int_equal(bth.dest_qpn, 0x123456);
	assert_true(bth.ack_request);
	assert_int_equal(bth.psn.value, 0xabcdef);
	assert_ptr_equal(rnic_bth_encode(&bth, encoded), encoded + RNIC_BTH_BYTES);
	assert_memory_equal(encoded, bytes, sizeof(bytes));
}

static void test_bth_single_flags(void **state)
{
	static const uint8_t bytes[RNIC_BTH_BYTES] = {0x04, 0x47, 0, 0, 0x80};
	uint8_t encoded[RNIC_BTH_BYTES];
	struct rnic_bth bth;

	(void)state;
	rnic_bth_decode(&bth, bytes);
	assert_false(bth.solicited);
	assert_true(bth.migrated);
	assert_int_equal(bth.version, 7);
	assert_true(bth.fecn);
	assert_false(bth.becn);
	assert_false(bth.ack_request);
	rnic_bth_encode(&bth, encoded);
	assert_memory_equal(encoded, bytes, sizeof(bytes));
}

static void test_deth(void **state)
{
	static const uint8_t bytes[RNIC_DETH_BYTES] = {0x80, 0x01, 0, 0, 0, 0x12, 0x34, 0x56};
	uint8_t encoded[RNIC_DETH_BYTES];
	struct rnic_deth deth;

	(void)state;
	assert_ptr_equal(rnic_deth_decode(&deth, bytes), bytes + sizeof(bytes));
	assert_int_equal(deth.qkey, 0x80010000);
	assert_int_equal(deth.source_qpn, 0x123456);
	assert_ptr_equal(rnic_deth_encode(&deth, encoded), encoded + sizeof(encoded));
	assert_memory_equal(encoded, bytes, sizeof(bytes));
}

static void test_reth(void **state)
{
	static const uint8_t bytes[RNIC_RETH_BYTES] = {1,    2,	   3,	 4,    5, 6, 7, 8,
						       0xaa, 0xbb, 0xcc, 0xdd, 0, 1, 0, 2};
	uint8_t encoded[RNIC_RETH_BYTES];
	struct rnic_reth reth;

	(void)state;
	assert_ptr_equal(rnic_reth_decode(&reth, bytes), bytes + sizeof(bytes));
	assert_int_equal(reth.address, UINT64_C(0x0102030405060708));
	assert_int_equal(reth.rkey, 0xaabbccdd);
	assert_int_equal(reth.length, 0x00010002);
	assert_ptr_equal(rnic_reth_encode(&reth, encoded), encoded + sizeof(encoded));
	assert_memory_equal(encoded, bytes, sizeof(bytes));
}

static void test_atomic_header(void **state)
{
	static const uint8_t bytes[RNIC_ATOMIC_BYTES] = {
		1,    2,    3,	  4,	5,    6,    7,	  8,	0xaa, 0xbb, 0xcc, 0xdd, 0x11, 0x12,
		0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28};
	uint8_t encoded[RNIC_ATOMIC_BYTES];
	struct rnic_atomic_header atomic;

	(void)state;
	assert_ptr_equal(rnic_atomic_header_decode(&atomic, bytes), bytes + sizeof(bytes));
	assert_int_equal(atomic.address, UINT64_C(0x0102030405060708));
	assert_int_equal(atomic.rkey, 0xaabbccdd);
	assert_int_equal(atomic.swap_or_add, UINT64_C(0x1112131415161718));
	assert_int_equal(atomic.compare, UINT64_C(0x2122232425262728));
	assert_ptr_equal(rnic_atomic_header_encode(&atomic, encoded), encoded + sizeof(encoded));
	assert_memory_equal(encoded, bytes, sizeof(bytes));
}

static void test_aeth(void **state)
{
	static const uint8_t bytes[RNIC_AETH_BYTES] = {0x62, 0x01, 0x02, 0x03};
	uint8_t encoded[RNIC_AETH_BYTES];
	struct rnic_aeth aeth;

	(void)state;
	assert_ptr_equal(rnic_aeth_decode(&aeth, bytes), bytes + sizeof(bytes));
	assert_int_equal(aeth.syndrome, 0x62);
	assert_int_equal(aeth.msn, 0x010203);
	assert_ptr_equal(rnic_aeth_encode(&aeth, encoded), encoded + sizeof(encoded));
	assert_memory_equal(encoded, bytes, sizeof(bytes));
}

static void test_single_words(void **state)
{
	static const uint8_t bytes[8] = {0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8};
	static const uint8_t srqn[4] = {0, 0xf2, 0xf3, 0xf4};
	static const uint8_t flush[4] = {0, 0, 0, 0x34};
	uint8_t encoded[8];
	uint64_t original;
	uint32_t word;

	(void)state;
	assert_ptr_equal(rnic_atomic_ack_decode(&original, bytes), bytes + 8);
	assert_int_equal(original, UINT64_C(0xf1f2f3f4f5f6f7f8));
	assert_ptr_equal(rnic_atomic_ack_encode(original, encoded), encoded + 8);
	assert_memory_equal(encoded, bytes, 8);

	assert_ptr_equal(rnic_immediate_decode(&word, bytes), bytes + 4);
	assert_int_equal(word, 0xf1f2f3f4);
	assert_ptr_equal(rnic_immediate_encode(word, encoded), encoded + 4);
	assert_memory_equal(encoded, bytes, 4);

	assert_ptr_equal(rnic_invalidate_decode(&word, bytes + 4), bytes + 8);
	assert_int_equal(word, 0xf5f6f7f8);
	assert_ptr_equal(rnic_invalidate_encode(word, encoded), encoded + 4);
	assert_memory_equal(encoded, bytes + 4, 4);

	assert_ptr_equal(rnic_xrceth_decode(&word, bytes), bytes + 4);
	assert_int_equal(word, 0xf2f3f4);
	assert_ptr_equal(rnic_xrceth_encode(word | 0xff000000, encoded), encoded + 4);
	assert_memory_equal(encoded, srqn, 4);

	assert_ptr_equal(rnic_feth_decode(&word, bytes), bytes + 4);
	assert_int_equal(word, 0x34);
	assert_ptr_equal(rnic_feth_encode(word | 0xffffffc0, encoded), encoded + 4);
	assert_memory_equal(encoded, flush, 4);
}

static void test_congestion_is_zero(void **state)
{
	static const uint8_t zeros[RNIC_CONGESTION_BYTES];
	uint8_t encoded[RNIC_CONGESTION_BYTES];

	(void)state;
	memset(encoded, 0xff, sizeof(encoded));
	assert_ptr_equal(rnic_congestion_encode(encoded), encoded + sizeof(encoded));
	assert_memory_equal(encoded, zeros, sizeof(zeros));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bth),	      cmocka_unit_test(test_bth_single_flags),
		cmocka_unit_test(test_deth),	      cmocka_unit_test(test_reth),
		cmocka_unit_test(test_atomic_header), cmocka_unit_test(test_aeth),
		cmocka_unit_test(test_single_words),  cmocka_unit_test(test_congestion_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
