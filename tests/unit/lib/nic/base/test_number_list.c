/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/number_list.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#define MAX 3

static void test_lists(void **state)
{
	static const struct {
		const char *text;
		int count;
		uint16_t numbers[MAX];
	} cases[] = {
		{"0", 1, {0}},
		{"0xffff", 1, {0xffff}},
		{"65535,0x8001,007", 3, {65535, 0x8001, 7}},
		{"0xabCD", 1, {0xabcd}},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		uint16_t numbers[MAX];

		assert_int_equal(number_list_read(cases[i].text, numbers, MAX), cases[i].count);
		for (int n = 0; n < cases[i].count; n++)
			assert_int_equal(numbers[n], cases[i].numbers[n]);
	}
}

static void test_what_is_no_list(void **state)
{
	static const char *const texts[] = {
		"",
		",",
		"1,",
		",1",
		"1,,2",
		"1,2,3,4",
		"65536",
		"0x10000",
		"0x",
		"-1",
		" 1",
		"1 ",
		"+1",
		"1;2",
		"0xg",
		"99999999999999999999999",
		" -18446744073709486081",
		"0x0x1",
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(texts); i++) {
		uint16_t numbers[MAX];

		assert_int_equal(number_list_read(texts[i], numbers, MAX), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_what_is_no_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
