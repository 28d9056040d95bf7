/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/prng.h"
#include "tests/unit/unit_test.h"

/* The published results of both generators for seed 0. */
static void test_known_values(void **state)
{
	struct prng prng;

	(void)state;
	prng_init(&prng, 0);
	assert_true(prng.state[0] == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(prng.state[1] == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(prng_next(&prng) == UINT64_C(0x99ec5f36cb75f2b4));
}

static void test_same_seed_same_sequence(void **state)
{
	struct prng a, b, other;
	uint32_t differences = 0;

	(void)state;
	prng_init(&a, 42);
	prng_init(&b, 42);
	prng_init(&other, 43);
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t value = prng_next(&a);

		assert_true(value == prng_next(&b));
		differences += value != prng_next(&other);
	}
	assert_true(differences > 95);
}

static void test_below(void **state)
{
	static const uint64_t bounds[] = {1, 2, 3, 10, 256, UINT64_C(1) << 40, UINT64_MAX};
	struct prng prng;

	(void)state;
	prng_init(&prng, 7);
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		for (uint32_t n = 0; n < 1000; n++)
			assert_true(prng_below(&prng, bounds[i]) < bounds[i]);
	}
}

/* Each of 10 values should come about 10,000 times; 5 standard deviations are 474. */
static void test_uniform(void **state)
{
	uint32_t counts[10] = {0};
	struct prng prng;

	(void)state;
	prng_init(&prng, 3);
	for (uint32_t n = 0; n < 100000; n++)
		counts[prng_below(&prng, 10)]++;
	for (uint32_t i = 0; i < 10; i++)
		assert_in_range(counts[i], 10000 - 474, 10000 + 474);
}

/* One draw for each 8 bytes begun: QPNs and keys of a seed stay what they are. */
static void test_source(void **state)
{
	struct prng prng, drawn;
	const struct random_source source = prng_source(&drawn);
	uint64_t value;
	uint8_t bytes[12];

	(void)state;
	prng_init(&prng, 5);
	prng_init(&drawn, 5);
	assert_true(random_source_next(&source) == prng_next(&prng));
	assert_true(random_source_below(&source, 1000) == prng_below(&prng, 1000));
	source.fill(source.context, bytes, sizeof(bytes));
	value = prng_next(&prng);
	assert_memory_equal(bytes, &value, 8);
	value = prng_next(&prng);
	assert_memory_equal(bytes + 8, &value, 4);
	assert_true(prng_next(&drawn) == prng_next(&prng));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_values), cmocka_unit_test(test_same_seed_same_sequence),
		cmocka_unit_test(test_below),	     cmocka_unit_test(test_uniform),
		cmocka_unit_test(test_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
