/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/system_random.h"
#include "tests/unit/unit_test.h"

#define DRAWS 1000

static int compare(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* More draws than the buffer holds: no 64 bits come twice. */
static void test_no_repeats(void **state)
{
	static uint64_t draws[DRAWS];
	struct system_random random;
	const struct random_source source = system_random_source(&random);

	(void)state;
	assert_int_equal(system_random_init(&random), 0);
	for (size_t i = 0; i < DRAWS; i++)
		draws[i] = random_source_next(&source);
	qsort(draws, DRAWS, sizeof(*draws), compare);
	for (size_t i = 1; i < DRAWS; i++)
		assert_true(draws[i] != draws[i - 1]);
}

/* A piece that the buffer does not hold whole, and one larger than the buffer. */
static void test_across_the_buffer(void **state)
{
	static const uint8_t zeros[32];
	uint8_t bytes[3 * SYSTEM_RANDOM_BUFFER_BYTES] = {0};
	struct system_random random;
	const struct random_source source = system_random_source(&random);

	(void)state;
	assert_int_equal(system_random_init(&random), 0);
	source.fill(source.context, bytes, 5);
	assert_int_equal(random.available, SYSTEM_RANDOM_BUFFER_BYTES - 5);
	source.fill(source.context, bytes, sizeof(bytes));
	assert_int_equal(random.available, SYSTEM_RANDOM_BUFFER_BYTES - 5);
	for (size_t at = 0; at < sizeof(bytes); at += sizeof(zeros))
		assert_memory_not_equal(bytes + at, zeros, sizeof(zeros));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_repeats),
		cmocka_unit_test(test_across_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
