/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/path_model.h"

#include "lib/nic/engine/engine_limits.h"
#include "proto/base/time_units.h"
#include "tests/unit/unit_test.h"

#define ROUND_TRIP_NS (10 * RNIC_NS_PER_MS)

/* A path that delivers what is under way in one round trip, and a clock. */
struct road {
	struct path_model model;
	uint64_t now_ns;
};

/* A round trip in which something was held back, and `bytes` arrive. */
static void pass_round(struct road *road, uint64_t bytes, uint64_t round_trip_ns)
{
	const struct path_departure departure = path_model_depart(&road->model, road->now_ns);

	path_model_limit(&road->model, road->now_ns);
	road->now_ns += round_trip_ns;
	path_model_deliver(&road->model, bytes, road->now_ns);
	path_model_arrive(&road->model, &departure, road->now_ns);
}

static struct road open_road(void)
{
	struct road road = {.now_ns = RNIC_NS_PER_SECOND};

	path_model_resume(&road.model, road.now_ns);
	return road;
}

/* 1,000,000 B in 10 ms are 100 MB/s: within the rounding of microseconds. */
static void assert_near(uint64_t value, uint64_t wanted)
{
	assert_in_range(value, wanted - wanted / 100, wanted + wanted / 100);
}

static void test_rate_and_round_trip_are_measured(void **state)
{
	struct road road = open_road();

	(void)state;
	assert_false(path_model_is_long(&road.model));
	assert_int_equal(path_model_allowed_bytes(&road.model), 0);
	pass_round(&road, 1000000, ROUND_TRIP_NS);
	assert_true(path_model_is_long(&road.model));
	assert_near(road.model.rate, 100000000);
	assert_near(path_model_held_bytes(&road.model), 1000000);
}

static void test_a_short_path_needs_no_model(void **state)
{
	struct road road = open_road();

	(void)state;
	for (int i = 0; i < 20; i++)
		pass_round(&road, 100000, LIMIT_PATH_SHORT_NS - 1);
	assert_false(path_model_is_long(&road.model));
}

/* A pause says nothing of the path, and a round in which nothing was held back ends no round. */
static void test_only_busy_rounds_count(void **state)
{
	struct road road = open_road();
	struct path_departure departure;

	(void)state;
	pass_round(&road, 1000000, ROUND_TRIP_NS);
	for (int i = 0; i < 2 * PATH_MODEL_ROUNDS; i++) {
		road.now_ns += RNIC_NS_PER_SECOND / 10;
		path_model_resume(&road.model, road.now_ns);
		departure = path_model_depart(&road.model, road.now_ns);
		road.now_ns += ROUND_TRIP_NS;
		path_model_deliver(&road.model, 1000, road.now_ns);
		path_model_arrive(&road.model, &departure, road.now_ns);
	}
	assert_near(road.model.rate, 100000000);
	for (int i = 0; i < PATH_MODEL_ROUNDS + 1; i++)
		pass_round(&road, 500000, ROUND_TRIP_NS);
	assert_near(road.model.rate, 50000000);
}

static void test_start_up_doubles_until_the_rate_stays(void **state)
{
	struct road road = open_road();
	uint64_t bytes = 100000;

	(void)state;
	for (int i = 0; i < 5; i++, bytes *= 2) {
		pass_round(&road, bytes, ROUND_TRIP_NS);
		assert_near(path_model_allowed_bytes(&road.model), 2 * bytes);
	}
	for (int i = 0; i < 5; i++)
		pass_round(&road, bytes, ROUND_TRIP_NS);
	assert_true(road.model.is_started);
	assert_near(path_model_allowed_bytes(&road.model), bytes + bytes / 4);
}

/* Where packets wait in queues for long, more of them find no more rate, but take from others. */
static void test_full_queues_end_start_up_and_growth(void **state)
{
	const uint64_t waits_ns = ROUND_TRIP_NS / 4 + 2 * LIMIT_PATH_WAIT_NS;
	struct road road = open_road();
	uint64_t bytes = 1000000;

	(void)state;
	pass_round(&road, bytes, ROUND_TRIP_NS);
	for (int i = 0; i < 40 && !road.model.is_started; i++, bytes += bytes / 2)
		pass_round(&road, bytes, ROUND_TRIP_NS + waits_ns + RNIC_NS_PER_MS);
	assert_true(road.model.is_started);
	assert_true(road.model.full_rounds < 3);
	assert_true(path_model_is_queued(&road.model));
	assert_int_equal(path_model_allowed_bytes(&road.model), path_model_held_bytes(&road.model));
	for (int i = 0; i < 40; i++)
		pass_round(&road, bytes, ROUND_TRIP_NS + waits_ns - RNIC_NS_PER_MS);
	assert_false(path_model_is_queued(&road.model));
	assert_near(path_model_allowed_bytes(&road.model),
		    path_model_held_bytes(&road.model) / 4 * 5);
}

/* Rounds until more than the path holds is allowed again. */
static uint32_t count_cautious_rounds(struct road *road)
{
	uint32_t rounds = 0;

	while (path_model_allowed_bytes(&road->model) == path_model_held_bytes(&road->model)) {
		pass_round(road, 1000000, ROUND_TRIP_NS);
		rounds++;
	}
	return rounds;
}

static void test_losses_make_cautious_for_longer_and_longer(void **state)
{
	struct road road = open_road();

	(void)state;
	path_model_lose(&road.model);
	assert_false(road.model.is_started); /* nothing is known of the path */
	pass_round(&road, 1000000, ROUND_TRIP_NS);
	path_model_lose(&road.model);
	assert_true(road.model.is_started && road.model.rate < 98000000);
	assert_int_equal(count_cautious_rounds(&road), 8);
	path_model_lose(&road.model);
	assert_int_equal(count_cautious_rounds(&road), 16);
	path_model_lose(&road.model);
	path_model_lose(&road.model);
	assert_int_equal(count_cautious_rounds(&road), 32);
	for (int i = 0; i < 8; i++)
		pass_round(&road, 1000000, ROUND_TRIP_NS);
	path_model_lose(&road.model);
	assert_int_equal(count_cautious_rounds(&road), 8);
}

/* After ten seconds behind a queue, a drain finds what the round trip is without one. */
static void test_the_least_round_trip_is_looked_for_again(void **state)
{
	struct road road = open_road();
	uint32_t rounds = 0;

	(void)state;
	pass_round(&road, 1000000, ROUND_TRIP_NS);
	while (!path_model_is_draining(&road.model)) {
		pass_round(&road, 2000000, 2 * ROUND_TRIP_NS);
		rounds++;
	}
	assert_in_range(rounds, 490, 510);
	assert_near(path_model_allowed_bytes(&road.model), 500000);
	while (path_model_is_draining(&road.model))
		pass_round(&road, 500000, ROUND_TRIP_NS + RNIC_NS_PER_MS);
	assert_near(road.model.least_ns, ROUND_TRIP_NS + RNIC_NS_PER_MS);
	assert_near(road.model.rate, 100000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate_and_round_trip_are_measured),
		cmocka_unit_test(test_a_short_path_needs_no_model),
		cmocka_unit_test(test_only_busy_rounds_count),
		cmocka_unit_test(test_start_up_doubles_until_the_rate_stays),
		cmocka_unit_test(test_full_queues_end_start_up_and_growth),
		cmocka_unit_test(test_losses_make_cautious_for_longer_and_longer),
		cmocka_unit_test(test_the_least_round_trip_is_looked_for_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
