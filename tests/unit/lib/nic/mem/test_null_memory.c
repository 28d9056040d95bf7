/* SPDX-License-Identifier: MIT */
#include "lib/nic/mem/client_memory.h"
#include "tests/unit/unit_test.h"

static void reads_are_zero_and_writes_are_gone(void **state)
{
	static const uint64_t offsets[] = {0, 4095, UINT64_MAX - 64};
	static const uint8_t zeros[64];
	struct client_region region;
	int error = 0;

	(void)state;
	null_region_init(&region);
	assert_int_equal(region.bytes, UINT64_MAX);
	for (unsigned i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		uint8_t bytes[64];
		struct memory_transfer transfer = {&region, offsets[i], bytes, sizeof(bytes)};

		memset(bytes, 0xff, sizeof(bytes));
		assert_int_equal(region.ops->write(&transfer, 1, &error), 1);
		assert_int_equal(bytes[0], 0xff);
		assert_int_equal(region.ops->read(&transfer, 1, &error), 1);
		assert_memory_equal(bytes, zeros, sizeof(bytes));
	}
}

static void atomics_find_zero(void **state)
{
	struct client_region region;
	uint64_t original = 7;

	(void)state;
	null_region_init(&region);
	assert_int_equal(region.ops->fetch_add(&region, 8, 5, &original), 0);
	assert_int_equal(original, 0);
	original = 7;
	assert_int_equal(region.ops->compare_swap(&region, 8, 0, 9, &original), 0);
	assert_int_equal(original, 0);
	assert_non_null(region.ops->store);
	assert_int_equal(region.ops->store(&region, 8, 5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_are_zero_and_writes_are_gone),
		cmocka_unit_test(atomics_find_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
