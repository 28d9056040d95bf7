/* SPDX-License-Identifier: MIT */
#include "lib/client/native/queues/place_map.h"

#include "lib/nic/base/prng.h"
#include "tests/unit/unit_test.h"

#include <stdbool.h>

static void test_runs_from_both_ends(void **state)
{
	struct place_map map;

	(void)state;
	assert_int_equal(place_map_init(&map, 100), 0);
	assert_int_equal(place_map_take_first(&map, 30), 0);
	assert_int_equal(place_map_take_first(&map, 10), 30);
	assert_int_equal(place_map_take_last(&map, 50), 50);
	assert_int_equal(place_map_take_last(&map, 11), PLACE_NONE);
	assert_int_equal(place_map_take_first(&map, 11), PLACE_NONE);
	assert_int_equal(place_map_take_last(&map, 10), 40);
	assert_int_equal(place_map_take_first(&map, 1), PLACE_NONE);
	place_map_fini(&map);
}

/* A run may cross words, and fills the gap that it fits. */
static void test_gaps_are_used_again(void **state)
{
	struct place_map map;

	(void)state;
	assert_int_equal(place_map_init(&map, 256), 0);
	assert_int_equal(place_map_take_first(&map, 256), 0);
	place_map_give(&map, 60, 9);
	place_map_give(&map, 200, 5);
	assert_int_equal(place_map_take_first(&map, 10), PLACE_NONE);
	assert_int_equal(place_map_take_first(&map, 6), 60);
	assert_int_equal(place_map_take_last(&map, 4), 201);
	assert_int_equal(place_map_take_last(&map, 3), 66);
	assert_int_equal(place_map_take_first(&map, 1), 200);
	assert_int_equal(place_map_take_first(&map, 1), PLACE_NONE);
	place_map_fini(&map);
}

static void test_more_than_there_is(void **state)
{
	struct place_map map;

	(void)state;
	for (uint32_t units = 1; units <= 130; units++) {
		assert_int_equal(place_map_init(&map, units), 0);
		assert_int_equal(place_map_take_first(&map, units + 1), PLACE_NONE);
		assert_int_equal(place_map_take_last(&map, UINT32_MAX), PLACE_NONE);
		assert_int_equal(place_map_take_last(&map, units), 0);
		place_map_give(&map, 0, units);
		assert_int_equal(place_map_take_first(&map, units), 0);
		place_map_fini(&map);
	}
}

#define UNITS 300
#define RUNS  40

struct run {
	uint32_t first, count; /* 0: none */
};

static void mark(bool *taken, const struct run *run, bool value)
{
	for (uint32_t unit = run->first; unit < run->first + run->count; unit++) {
		assert_int_equal(taken[unit], !value);
		taken[unit] = value;
	}
}

static bool has_gap(const bool *taken, uint32_t count)
{
	uint32_t length = 0;

	for (uint32_t unit = 0; unit < UNITS; unit++) {
		length = taken[unit] ? 0 : length + 1;
		if (length == count)
			return true;
	}
	return false;
}

/* Takes and gives at random: no unit belongs to two runs, and what fits is found. */
static void test_against_a_model(void **state)
{
	bool taken[UNITS] = {false};
	struct run runs[RUNS] = {{0}};
	struct place_map map;
	struct prng prng;

	(void)state;
	prng_init(&prng, 1);
	assert_int_equal(place_map_init(&map, UNITS), 0);
	for (unsigned i = 0; i < 20000; i++) {
		struct run *run = &runs[prng_next(&prng) % RUNS];
		const uint32_t count = 1 + (uint32_t)prng_next(&prng) % 24;
		const bool is_possible = has_gap(taken, count);

		if (run->count > 0) {
			mark(taken, run, false);
			place_map_give(&map, run->first, run->count);
			run->count = 0;
			continue;
		}
		run->first = prng_next(&prng) % 2 == 0 ? place_map_take_first(&map, count)
						       : place_map_take_last(&map, count);
		assert_int_equal(run->first != PLACE_NONE, is_possible);
		if (!is_possible)
			continue;
		run->count = count;
		mark(taken, run, true);
	}
	place_map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_from_both_ends),
		cmocka_unit_test(test_gaps_are_used_again),
		cmocka_unit_test(test_more_than_there_is),
		cmocka_unit_test(test_against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
