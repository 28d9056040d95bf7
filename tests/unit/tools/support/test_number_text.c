/* SPDX-License-Identifier: MIT */
#include "tools/support/number_text.h"

#include "tests/unit/unit_test.h"

static void test_numbers(void **state)
{
	uint32_t number = 0;

	(void)state;
	assert_true(number_text_is("4294967295", 10, &number));
	assert_int_equal(number, UINT32_MAX);
	assert_true(number_text_is("0x12", 0, &number));
	assert_int_equal(number, 0x12);
	assert_true(number_text_is("0x800123", 16, &number));
	assert_int_equal(number, 0x800123);
}

static void test_no_numbers(void **state)
{
	static const char *const texts[] = {"",	  "-5",	 "+5",	       " 5",
					    "5 ", "5x",	 "4294967296", "99999999999999999999",
					    "x",  "0x1", "1/2"};
	uint32_t number = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(number_text_is(texts[i], 10, &number));
	assert_int_equal(number, 7);
}

static void test_the_end_of_a_part(void **state)
{
	const char *at = "17/4";
	uint32_t number;

	(void)state;
	assert_false(number_text_read(&at, 10, ':', &number));
	assert_true(number_text_read(&at, 10, '/', &number));
	assert_int_equal(number, 17);
	assert_string_equal(at, "/4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_no_numbers),
		cmocka_unit_test(test_the_end_of_a_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
