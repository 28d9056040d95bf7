/* SPDX-License-Identifier: MIT */
#include "tools/lab/link/byte_range.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

static void test_ranges(void **state)
{
	static const struct {
		const char *text;
		uint32_t first, last;
	} cases[] = {
		{"0 5", 0, 5},
		{"  7\t7 ", 7, 7},
		{"0 4294967295", 0, UINT32_MAX},
		{"007 0010", 7, 10},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct byte_range range;

		assert_int_equal(byte_range_parse(cases[i].text, &range), 0);
		assert_int_equal(range.first, cases[i].first);
		assert_int_equal(range.last, cases[i].last);
	}
}

static void test_what_is_no_range(void **state)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{"", -EINVAL},
		{"5", -EINVAL},
		{"5 ", -EINVAL},
		{"5 4", -EINVAL},
		{"-1 5", -EINVAL},
		{"0 -5", -EINVAL},
		{"0 5 9", -EINVAL},
		{"0-5", -EINVAL},
		{"0,5", -EINVAL},
		{"0x1 5", -EINVAL},
		{"1.5 2", -EINVAL},
		{"99999999999999999999 x", -EINVAL},
		{"0 4294967296", -ERANGE},
		{"0 18446744073709551621", -ERANGE},
		{"4294967296 5", -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct byte_range range;

		assert_int_equal(byte_range_parse(cases[i].text, &range), cases[i].error);
	}
}

static void test_both_ends_belong_to_it(void **state)
{
	const struct byte_range range = {.first = 0, .last = 5};

	(void)state;
	assert_true(byte_range_is_within(&range, 6));
	assert_false(byte_range_is_within(&range, 5));
	assert_false(byte_range_is_within(&range, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_what_is_no_range),
		cmocka_unit_test(test_both_ends_belong_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
