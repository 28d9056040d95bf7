/* SPDX-License-Identifier: MIT */
#include "proto/wire/psn.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

static void test_distance(void **state)
{
	static const struct {
		uint32_t psn, base;
		int32_t distance;
	} cases[] = {
		{0, 0, 0},
		{1, 0, 1},
		{0, 1, -1},
		{0, 0xffffff, 1},
		{0xffffff, 0, -1},
		{2, 0xfffffe, 4},
		{0x7fffff, 0, 0x7fffff},
		{0x800000, 0, -0x800000},
		{0, 0x800000, -0x800000},
		{0x800001, 0, -0x7fffff},
		{0x800000, 0x7fffff, 1},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		assert_int_equal(rnic_psn_distance(rnic_psn(cases[i].psn), rnic_psn(cases[i].base)),
				 cases[i].distance);
}

static void test_add_undoes_distance(void **state)
{
	static const int32_t steps[] = {0, 1, -1, 255, -255, 0x7fffff, -0x800000};

	(void)state;
	for (uint32_t value = 0; value <= RNIC_PSN_MASK; value += 4093) {
		struct rnic_psn base = rnic_psn(value);

		for (size_t i = 0; i < RNIC_COUNT_OF(steps); i++) {
			struct rnic_psn psn = rnic_psn_add(base, steps[i]);

			assert_true(psn.value <= RNIC_PSN_MASK);
			assert_int_equal(rnic_psn_distance(psn, base), steps[i]);
			assert_int_equal(rnic_psn_equal(psn, base), steps[i] == 0);
		}
	}
}

static void test_value_is_masked(void **state)
{
	(void)state;
	assert_int_equal(rnic_psn(0x1000000).value, 0);
	assert_int_equal(rnic_psn(UINT32_MAX).value, 0xffffff);
	assert_true(rnic_psn_equal(rnic_psn(0x1000005), rnic_psn(5)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_add_undoes_distance),
		cmocka_unit_test(test_value_is_masked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
