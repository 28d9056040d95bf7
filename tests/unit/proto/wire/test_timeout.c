/* SPDX-License-Identifier: MIT */
#include "proto/wire/timeout.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

static void test_ack_timeout(void **state)
{
	static const struct {
		uint8_t code;
		uint64_t timeout_ns;
	} cases[] = {
		{0, UINT64_MAX},
		{1, 8192},
		{14, UINT64_C(67108864)},
		{18, UINT64_C(1073741824)},
		{32, UINT64_MAX},
		{33, 8192},
		{31, UINT64_C(8796093022208)},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		assert_int_equal(rnic_ack_timeout_ns(cases[i].code), cases[i].timeout_ns);
}

static void test_rnr_timer(void **state)
{
	static const uint32_t timer_us[32] = {
		655360, 10,    20,    30,    40,    60,	    80,	    120,    160,    240,    320,
		480,	640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240,  15360,
		20480,	30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520,
	};

	(void)state;
	for (uint8_t code = 0; code < 32; code++) {
		assert_int_equal(rnic_rnr_timer_ns(code), UINT64_C(1000) * timer_us[code]);
		assert_int_equal(rnic_rnr_timer_ns(code | 0xe0), UINT64_C(1000) * timer_us[code]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ack_timeout),
		cmocka_unit_test(test_rnr_timer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
