/* SPDX-License-Identifier: MIT */
/*
 * Many regions: run under rnic-run, on a device with one address. RNIC_TEST_LONG in the environment
 * makes a million of them.
 */
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/unit/unit_test.h"

#include <stdbool.h>
#include <time.h>

#define FEW	      1000
#define MANY	      100000
#define MILLION	      1000000
#define BATCH	      500
#define BATCHES	      10
#define REGION_BYTES  64
#define MEMORY_BYTES  (1 << 16)
#define RATIO_MAX     4
#define ATTEMPTS      5
#define REGION_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)

static uint8_t memory[MEMORY_BYTES];
static struct ibv_mr *regions[MILLION];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void make_regions(struct bench *bench, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		regions[i] = ibv_reg_mr(bench->pd, memory + i % (MEMORY_BYTES - REGION_BYTES),
					REGION_BYTES, REGION_ACCESS);
		if (regions[i] == NULL)
			fail_msg("region %u: %s", i, strerror(errno));
	}
}

static void free_regions(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		assert_int_equal(ibv_dereg_mr(regions[i]), 0);
}

/* Nanoseconds in which one of `held` regions is made and freed: those of the best batch. */
struct cost {
	uint64_t make;
	uint64_t free;
};

/* The oldest regions go, and new ones take their places. */
static struct cost cost_among(struct bench *bench, uint32_t held)
{
	struct cost best = {UINT64_MAX, UINT64_MAX};

	make_regions(bench, 0, held);
	for (uint32_t batch = 0; batch < BATCHES; batch++) {
		const uint32_t first = batch * BATCH % held;
		const uint64_t started = now_ns();
		uint64_t freed, made;

		free_regions(first, BATCH);
		freed = now_ns();
		make_regions(bench, first, BATCH);
		made = now_ns();
		best.free = freed - started < best.free ? freed - started : best.free;
		best.make = made - freed < best.make ? made - freed : best.make;
	}
	free_regions(0, held);
	return (struct cost){best.make / BATCH, best.free / BATCH};
}

/* Measures few before and after many, since other programs may come meanwhile. */
static bool many_cost_as_few(struct bench *bench)
{
	const struct cost before = cost_among(bench, FEW);
	const struct cost many = cost_among(bench, MANY);
	const struct cost after = cost_among(bench, FEW);
	const struct cost few = {
		.make = before.make > after.make ? before.make : after.make,
		.free = before.free > after.free ? before.free : after.free,
	};

	print_message("among %u: %.1f us to make, %.1f us to free; among %u: %.2f and %.2f of "
		      "that\n",
		      FEW, (double)few.make / 1000, (double)few.free / 1000, MANY,
		      (double)many.make / (double)few.make, (double)many.free / (double)few.free);
	return many.free <= RATIO_MAX * few.free && many.make <= RATIO_MAX * few.make;
}

static void regions_cost_the_same_among_many(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	bool is_same = false;

	(void)state;
	for (int i = 0; i < ATTEMPTS && !is_same; i++)
		is_same = many_cost_as_few(bench);
	assert_true(is_same);
	bench_stop(bench);
}

static void the_device_has_a_million(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	struct ibv_device_attr attributes;
	uint64_t started, made;

	(void)state;
	assert_int_equal(ibv_query_device(bench->context, &attributes), 0);
	assert_true(attributes.max_mr > MILLION);
	if (getenv("RNIC_TEST_LONG") != NULL) {
		started = now_ns();
		make_regions(bench, 0, MILLION);
		made = now_ns();
		free_regions(0, MILLION);
		print_message("a million: %.1f us each to make, %.1f us to free\n",
			      (double)(made - started) / 1000 / MILLION,
			      (double)(now_ns() - made) / 1000 / MILLION);
	}
	bench_stop(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_cost_the_same_among_many),
		cmocka_unit_test(the_device_has_a_million),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
