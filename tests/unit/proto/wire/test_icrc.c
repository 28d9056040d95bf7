/* SPDX-License-Identifier: MIT */
#include "proto/wire/icrc.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/proto/wire/packet_maker.h"
#include "tests/unit/unit_test.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* Writes the ICRC for `identification` behind a packet of `length` bytes, ICRC included. */
static void seal(const struct rnic_addresses *addresses, uint16_t identification, uint8_t *bytes,
		 size_t length)
{
	rnic_icrc_write(
		bytes + length - RNIC_ICRC_BYTES,
		rnic_icrc_compute(addresses, identification, bytes, length - RNIC_ICRC_BYTES));
}

static void fill(uint64_t *random, uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)maker_random(random);
}

/* An empty SEND as Linux rxe sent it: identification 0x4e69, 192.0.2.2 to 192.0.2.3. */
static void test_known_packet(void **state)
{
	static const uint8_t bytes[] = {0x04, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x2e,
					0x80, 0x10, 0x00, 0x00, 0xa6, 0xa8, 0xfd, 0xb3};
	static const uint8_t source[4] = {192, 0, 2, 2}, dest[4] = {192, 0, 2, 3};
	struct rnic_addresses addresses = {
		.source = rnic_gid_from_ipv4(source),
		.dest = rnic_gid_from_ipv4(dest),
		.source_port = 51268,
	};
	uint8_t icrc[RNIC_ICRC_BYTES];
	uint16_t found = 0;

	(void)state;
	rnic_icrc_write(icrc, rnic_icrc_compute(&addresses, 0x4e69, bytes,
						sizeof(bytes) - RNIC_ICRC_BYTES));
	assert_memory_equal(icrc, bytes + sizeof(bytes) - RNIC_ICRC_BYTES, RNIC_ICRC_BYTES);
	assert_int_equal(rnic_icrc_check(&addresses, bytes, sizeof(bytes), &found),
			 RNIC_ICRC_GOOD_FOR_ID);
	assert_int_equal(found, 0x4e69);
}

/*
 * The same packet with other flags, whose ICRC zlib's CRC-32 gave. A sender may leave "don't
 * fragment" clear; a fragment and the reserved bit are no RoCEv2.
 */
static void test_flags(void **state)
{
	static const struct {
		uint8_t icrc[RNIC_ICRC_BYTES];
		enum rnic_icrc_verdict verdict;
		uint16_t identification;
	} rows[] = {
		{{0x2a, 0xce, 0x25, 0x25}, RNIC_ICRC_GOOD_FOR_ID, 0x4e69}, /* none */
		{{0x3c, 0x24, 0x15, 0xd1}, RNIC_ICRC_GOOD_FOR_ID, 0},	   /* none */
		{{0x7a, 0x17, 0x79, 0x9a}, RNIC_ICRC_BAD, 0xffff},	   /* more fragments */
		{{0x65, 0xef, 0xd4, 0x27}, RNIC_ICRC_BAD, 0xffff},	   /* the reserved bit */
	};
	uint8_t bytes[16] = {0x04, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x2e, 0x80, 0x10};
	const struct rnic_addresses addresses = {
		.source = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 2}),
		.dest = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 3}),
		.source_port = 51268,
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		uint16_t found = 0xffff;

		memcpy(bytes + 12, rows[i].icrc, RNIC_ICRC_BYTES);
		assert_int_equal(rnic_icrc_check(&addresses, bytes, sizeof(bytes), &found),
				 rows[i].verdict);
		assert_int_equal(found, rows[i].identification);
	}
}

/* The shortest and longest packets and all between them: every entry of the tables of inverses. */
static void test_identification_is_found_at_every_length(void **state)
{
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	uint64_t random = 3;

	(void)state;
	for (size_t length = RNIC_BTH_BYTES + RNIC_ICRC_BYTES; length <= sizeof(bytes);
	     length += 4) {
		struct rnic_addresses addresses = maker_addresses(&random, true);
		uint16_t identification = (uint16_t)(maker_random(&random) | 1);
		uint16_t found = 0;

		fill(&random, bytes, length);
		seal(&addresses, identification, bytes, length);
		assert_int_equal(rnic_icrc_check(&addresses, bytes, length, &found),
				 RNIC_ICRC_GOOD_FOR_ID);
		assert_int_equal(found, identification);
		assert_int_equal(rnic_icrc_check_expecting(&addresses, identification, bytes,
							   length, &found),
				 RNIC_ICRC_GOOD);
		assert_int_equal(found, identification);
		seal(&addresses, 0, bytes, length);
		assert_int_equal(rnic_icrc_check(&addresses, bytes, length, NULL), RNIC_ICRC_GOOD);
	}
}

static void test_every_identification(void **state)
{
	uint8_t bytes[64];
	uint64_t random = 4;
	struct rnic_addresses addresses = maker_addresses(&random, true);

	(void)state;
	fill(&random, bytes, sizeof(bytes));
	for (uint32_t identification = 1; identification <= UINT16_MAX; identification++) {
		uint16_t found = 0;

		seal(&addresses, (uint16_t)identification, bytes, sizeof(bytes));
		assert_int_equal(rnic_icrc_check(&addresses, bytes, sizeof(bytes), &found),
				 RNIC_ICRC_GOOD_FOR_ID);
		assert_int_equal(found, identification);
	}
}

/* An expected value only saves work: a packet with another identification is good as well. */
static void test_expected_identification(void **state)
{
	static const uint16_t identifications[] = {0, 1, 2, 0x00ff, 0x0100, 0x1234, 0xffff};
	uint8_t bytes[64];
	uint64_t random = 6;
	struct rnic_addresses addresses = maker_addresses(&random, true);

	(void)state;
	fill(&random, bytes, sizeof(bytes));
	for (size_t i = 0; i < RNIC_COUNT_OF(identifications); i++) {
		seal(&addresses, identifications[i], bytes, sizeof(bytes));
		for (size_t j = 0; j < RNIC_COUNT_OF(identifications); j++) {
			uint16_t found = 7;

			assert_int_equal(rnic_icrc_check_expecting(&addresses, identifications[j],
								   bytes, sizeof(bytes), &found),
					 i == j ? RNIC_ICRC_GOOD : RNIC_ICRC_GOOD_FOR_ID);
			assert_int_equal(found, identifications[i]);
		}
	}
	bytes[20] ^= 1;
	for (size_t j = 0; j < RNIC_COUNT_OF(identifications); j++)
		assert_int_equal(rnic_icrc_check_expecting(&addresses, identifications[j], bytes,
							   sizeof(bytes), NULL),
				 RNIC_ICRC_BAD);
}

/*
 * A single flipped bit, in the packet or its ICRC, never passes, with or without knowledge of the
 * sender.
 */
static void test_flipped_bits(void **state)
{
	uint8_t bytes[128];
	uint64_t random = 5;

	(void)state;
	for (int round = 0; round < 3; round++) {
		struct rnic_addresses addresses = maker_addresses(&random, round > 0);
		uint16_t identification = round == 1 ? 0 : 0x1234;

		fill(&random, bytes, sizeof(bytes));
		seal(&addresses, identification, bytes, sizeof(bytes));
		for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
			enum rnic_icrc_verdict verdict;

			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			verdict = rnic_icrc_check(&addresses, bytes, sizeof(bytes), NULL);
			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (bit / 8 == 4) /* FECN, BECN and their neighbours are masked */
				assert_int_not_equal(verdict, RNIC_ICRC_BAD);
			else
				assert_int_equal(verdict, RNIC_ICRC_BAD);
		}
	}
}

static void test_coverage_of_addresses(void **state)
{
	uint8_t bytes[64];
	uint64_t random = 6;

	(void)state;
	for (int ipv4 = 0; ipv4 < 2; ipv4++) {
		struct rnic_addresses addresses = maker_addresses(&random, ipv4);
		struct rnic_addresses changed = addresses;

		fill(&random, bytes, sizeof(bytes));
		seal(&addresses, 0, bytes, sizeof(bytes));
		changed.traffic_class ^= 0xff;
		changed.hop_limit ^= 0xff;
		assert_int_equal(rnic_icrc_check(&changed, bytes, sizeof(bytes), NULL),
				 RNIC_ICRC_GOOD);
		changed.source_port ^= 1;
		assert_int_equal(rnic_icrc_check(&changed, bytes, sizeof(bytes), NULL),
				 RNIC_ICRC_BAD);
		changed = addresses;
		changed.source.bytes[15] ^= 1;
		assert_int_equal(rnic_icrc_check(&changed, bytes, sizeof(bytes), NULL),
				 RNIC_ICRC_BAD);
		changed = addresses;
		changed.dest.bytes[15] ^= 1;
		assert_int_equal(rnic_icrc_check(&changed, bytes, sizeof(bytes), NULL),
				 RNIC_ICRC_BAD);
	}
}

static void test_lengths_no_packet_has(void **state)
{
	static uint8_t bytes[RNIC_PACKET_BYTES_MAX + 4];
	uint64_t random = 7;
	struct rnic_addresses addresses = maker_addresses(&random, true);

	(void)state;
	for (size_t length = 0; length < RNIC_BTH_BYTES + RNIC_ICRC_BYTES; length++)
		assert_int_equal(rnic_icrc_check(&addresses, bytes, length, NULL), RNIC_ICRC_BAD);
	assert_int_equal(rnic_icrc_check(&addresses, bytes, sizeof(bytes), NULL), RNIC_ICRC_BAD);
	for (size_t length = 17; length < 20; length++) {
		seal(&addresses, 0, bytes, length);
		assert_int_equal(rnic_icrc_check(&addresses, bytes, length, NULL), RNIC_ICRC_BAD);
	}
}

#if defined(__x86_64__)
/* The upper halves of YMM and ZMM registers 0 to 15: bits of XINUSE (Intel SDM 1, 13.6). */
#define UPPER_HALVES_IN_USE (UINT64_C(1) << 2 | UINT64_C(1) << 6)

__attribute__((target("xsave"))) static bool has_upper_halves_in_use(void)
{
	return (_xgetbv(1) & UPPER_HALVES_IN_USE) != 0;
}

/* No function with AVX: the compiler clears the upper halves where such a function returns. */
static void use_upper_halves(void)
{
	__asm__ volatile("vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n\t"
			 "vinsertf128 $1, %%xmm0, %%ymm0, %%ymm0"
			 :
			 :
			 : "xmm0");
}

__attribute__((target("avx"))) static void clear_upper_halves(void)
{
	_mm256_zeroupper();
}

/* Whether XINUSE of this processor follows each instruction. */
static bool can_see_upper_halves(void)
{
	unsigned int eax = 0, ebx, ecx, edx;

	if (!__builtin_cpu_supports("avx") || !__get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) ||
	    (eax & 1U << 2) == 0)
		return false;
	use_upper_halves();
	if (!has_upper_halves_in_use())
		return false;
	clear_upper_halves();
	return !has_upper_halves_in_use();
}

static void test_vector_registers_are_released(void **state)
{
	static uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	uint64_t random = 8;
	struct rnic_addresses addresses = maker_addresses(&random, true);
	bool is_in_use;

	(void)state;
	if (!can_see_upper_halves()) {
		print_message("no XINUSE that follows the upper halves of vector registers\n");
		skip();
	}
	use_upper_halves();
	rnic_icrc_compute(&addresses, 0, bytes, sizeof(bytes) - RNIC_ICRC_BYTES);
	is_in_use = has_upper_halves_in_use();
	assert_false(is_in_use);
}
#else
static void test_vector_registers_are_released(void **state)
{
	(void)state;
	print_message("vector registers of this processor have no upper halves\n");
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_packet),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_identification_is_found_at_every_length),
		cmocka_unit_test(test_every_identification),
		cmocka_unit_test(test_expected_identification),
		cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_coverage_of_addresses),
		cmocka_unit_test(test_lengths_no_packet_has),
		cmocka_unit_test(test_vector_registers_are_released),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
