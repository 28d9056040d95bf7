/* SPDX-License-Identifier: MIT */
#include "proto/wire/syndrome.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

static void test_parts(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum rnic_syndrome_kind kind;
		uint8_t value;
		const char *text;
	} cases[] = {
		{0x1f, RNIC_SYNDROME_ACK, 31, "ACK"},
		{0x05, RNIC_SYNDROME_ACK, 5, "ACK with credits"},
		{0x2c, RNIC_SYNDROME_RNR_NAK, 12, "RNR NAK"},
		{0x40, RNIC_SYNDROME_RESERVED, 0, "reserved syndrome"},
		{0x60, RNIC_SYNDROME_NAK, 0, "NAK PSN sequence error"},
		{0x61, RNIC_SYNDROME_NAK, 1, "NAK invalid request"},
		{0x62, RNIC_SYNDROME_NAK, 2, "NAK remote access error"},
		{0x63, RNIC_SYNDROME_NAK, 3, "NAK remote operational error"},
		{0x64, RNIC_SYNDROME_NAK, 4, "NAK invalid RD request"},
		{0x7f, RNIC_SYNDROME_NAK, 31, "NAK reserved code"},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		assert_int_equal(rnic_syndrome_kind(cases[i].syndrome), cases[i].kind);
		assert_int_equal(rnic_syndrome_value(cases[i].syndrome), cases[i].value);
		assert_int_equal(rnic_syndrome_make(cases[i].kind, cases[i].value),
				 cases[i].syndrome);
		assert_string_equal(rnic_syndrome_text(cases[i].syndrome), cases[i].text);
	}
}

static void test_every_syndrome_has_a_text(void **state)
{
	(void)state;
	for (int syndrome = 0; syndrome < 256; syndrome++)
		assert_non_null(rnic_syndrome_text((uint8_t)syndrome));
}

static void test_credits(void **state)
{
	static const struct {
		uint32_t entries;
		uint8_t code;
	} cases[] = {
		{0, 0},	     {1, 1},	  {4, 4},	    {5, 4},	{6, 5},
		{7, 5},	     {8, 6},	  {1000, 19},	    {1024, 20}, {1535, 20},
		{32767, 29}, {32768, 30}, {UINT32_MAX, 30},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		assert_int_equal(rnic_credits_to_code(cases[i].entries), cases[i].code);
	for (uint8_t code = 0; code < RNIC_CREDITS_NOT_CARRIED; code++)
		assert_int_equal(rnic_credits_to_code(rnic_credits_from_code(code)), code);
	assert_int_equal(rnic_credits_from_code(30), 32768);
	assert_int_equal(rnic_credits_from_code(RNIC_CREDITS_NOT_CARRIED), UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_every_syndrome_has_a_text),
		cmocka_unit_test(test_credits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
