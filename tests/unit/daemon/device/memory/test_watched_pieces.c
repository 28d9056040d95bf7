/* SPDX-License-Identifier: MIT */
/* Random changes of an address space of few pages, against a model that keeps each page apart. */
#include "daemon/device/memory/watched_pieces.h"

#include "tests/unit/unit_test.h"

#include <stdlib.h>

#define PAGES	   64
#define RANGES	   24
#define ROUNDS	   200000
#define FIRST_PAGE UINT64_C(1000)
#define GONE	   UINT64_MAX
#define SEED	   20261128

static uint64_t page_bytes;

struct model_range {
	struct watched_range range;
	bool is_added;
	uint64_t first; /* page, as registered */
	uint64_t count;
	uint64_t place[PAGES]; /* of each page: where it lies now, or GONE */
};

struct model {
	struct watched_pieces pieces;
	struct model_range ranges[RANGES];
};

static uint64_t bounded(uint64_t bound)
{
	static uint64_t state = SEED;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (state >> 33) % bound;
}

static uint64_t address_of(uint64_t page)
{
	return (FIRST_PAGE + page) * page_bytes;
}

/* Ranges begin and end anywhere in their pages. */
static void model_add(struct model *model, struct model_range *range)
{
	range->first = bounded(PAGES);
	range->count = 1 + bounded(PAGES - range->first);
	range->range.address = address_of(range->first) + bounded(page_bytes / 2);
	range->range.bytes = address_of(range->first + range->count) - bounded(page_bytes / 4) -
			     range->range.address;
	for (uint64_t i = 0; i < range->count; i++)
		range->place[i] = range->first + i;
	assert_int_equal(watched_pieces_add(&model->pieces, &range->range), 0);
	range->is_added = true;
}

static void model_remove(struct model *model, struct model_range *range)
{
	uint64_t start, end;

	while (watched_pieces_remove(&model->pieces, &range->range, &start, &end))
		assert_true(start < end);
	range->is_added = false;
}

/* Moves pages from `from` on by `distance`; GONE: unmaps them. */
static void model_change(struct model *model, uint64_t from, uint64_t count, uint64_t to)
{
	for (uint32_t i = 0; i < RANGES; i++) {
		struct model_range *range = &model->ranges[i];

		for (uint64_t page = 0; range->is_added && page < range->count; page++)
			if (range->place[page] >= from && range->place[page] < from + count)
				range->place[page] =
					to == GONE ? GONE : range->place[page] - from + to;
	}
}

static void change_anything(struct model *model)
{
	struct model_range *range = &model->ranges[bounded(RANGES)];
	const uint64_t from = bounded(PAGES / 2), count = 1 + bounded(PAGES / 4);
	const uint64_t to = from + count + bounded(PAGES - from - count);

	if (bounded(4) != 0) {
		if (range->is_added)
			model_remove(model, range);
		else
			model_add(model, range);
	} else if (bounded(2) == 0) {
		watched_pieces_unmap(&model->pieces, address_of(from), address_of(from + count));
		model_change(model, from, count, GONE);
	} else {
		/* As the kernel does: what lies at the new place goes first. */
		watched_pieces_unmap(&model->pieces, address_of(to), address_of(to + count));
		model_change(model, to, count, GONE);
		watched_pieces_move(&model->pieces, address_of(from), address_of(to),
				    count * page_bytes);
		model_change(model, from, count, to);
	}
}

/* Compares where the bytes of a range are; returns whether any lies elsewhere than at first. */
static bool compare_range(const struct model_range *range, bool *is_covered)
{
	bool is_torn = false;

	for (uint64_t page = 0; page < range->count; page++) {
		const uint64_t byte =
			page == 0 ? range->range.address : address_of(range->first + page);
		const uint64_t offset = byte - range->range.address, place = range->place[page];
		uint64_t address = 0, bytes = 0;

		assert_int_equal(watched_pieces_find(&range->range, offset, &address, &bytes),
				 place != GONE);
		is_torn |= place != range->first + page;
		if (place == GONE)
			continue;
		is_covered[place] = true;
		assert_int_equal(address - address_of(place), byte % page_bytes);
		assert_true(bytes >= page_bytes - byte % page_bytes);
	}
	return is_torn;
}

static uint32_t compare_gaps(const struct model *model, const bool *is_covered, uint64_t pages)
{
	uint64_t page = 0, start, end;
	uint32_t runs = 0;

	for (uint64_t i = 0; i < pages; i++)
		runs += is_covered[i] && (i == 0 || !is_covered[i - 1]);
	while (watched_pieces_gap(&model->pieces, address_of(page), address_of(pages), &start,
				  &end)) {
		for (; address_of(page) < start; page++)
			assert_true(is_covered[page]);
		for (; address_of(page) < end; page++)
			assert_false(is_covered[page]);
	}
	for (; page < pages; page++)
		assert_true(is_covered[page]);
	return runs;
}

static void compare(const struct model *model)
{
	bool is_covered[2 * PAGES] = {false};
	uint32_t torn = 0;

	for (uint32_t i = 0; i < RANGES; i++) {
		if (!model->ranges[i].is_added)
			continue;
		const bool is_torn = compare_range(&model->ranges[i], is_covered);

		assert_int_equal(model->ranges[i].range.is_torn, is_torn);
		torn += is_torn;
	}
	assert_int_equal(model->pieces.torn_count, torn);
	assert_int_equal(model->pieces.run_count, compare_gaps(model, is_covered, 2 * PAGES));
}

static void test_random_changes(void **state)
{
	struct model *model = calloc(1, sizeof(*model));

	(void)state;
	assert_non_null(model);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		change_anything(model);
		if (round % 16 == 0)
			compare(model);
	}
	for (uint32_t i = 0; i < RANGES; i++)
		if (model->ranges[i].is_added)
			model_remove(model, &model->ranges[i]);
	assert_int_equal(model->pieces.run_count, 0);
	assert_int_equal(model->pieces.torn_count, 0);
	watched_pieces_fini(&model->pieces);
	free(model);
}

/* A million ranges in few pages are one run, and cost no more than the search for them. */
static void test_a_million_ranges_of_one_block(void **state)
{
	const uint32_t count = 1000000;
	struct watched_range *ranges = calloc(count, sizeof(*ranges));
	struct watched_pieces pieces = {0};
	uint64_t start, end;

	(void)state;
	assert_non_null(ranges);
	for (uint32_t i = 0; i < count; i++) {
		ranges[i] = (struct watched_range){.address = address_of(0) + i % 65536 * 64,
						   .bytes = 64};
		assert_int_equal(watched_pieces_add(&pieces, &ranges[i]), 0);
	}
	assert_int_equal(pieces.run_count, 1);
	assert_false(watched_pieces_gap(&pieces, address_of(0), address_of(0) + 65536 * 64, &start,
					&end));
	for (uint32_t i = 0; i < count; i++)
		while (watched_pieces_remove(&pieces, &ranges[i], &start, &end))
			;
	assert_int_equal(pieces.run_count, 0);
	watched_pieces_fini(&pieces);
	free(ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_changes),
		cmocka_unit_test(test_a_million_ranges_of_one_block),
	};

	page_bytes = watched_page_bytes();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
