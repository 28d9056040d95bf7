/* SPDX-License-Identifier: MIT */
/* A heap that was large gives its pages back; one that is small keeps them. */
#include "daemon/shared/base/heap.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES 1024

static size_t resident_bytes(void)
{
	unsigned long total_pages, resident_pages;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu", &total_pages, &resident_pages), 2);
	fclose(file);
	return resident_pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Fills the heap up, and frees all but the last piece, which keeps its end where it is. */
static void *peak_and_fall(size_t bytes)
{
	const size_t count = bytes / PIECE_BYTES;
	void **pieces = calloc(count, sizeof(*pieces)), *last;

	assert_non_null(pieces);
	for (size_t i = 0; i < count; i++) {
		pieces[i] = malloc(PIECE_BYTES);
		assert_non_null(pieces[i]);
		memset(pieces[i], 1, PIECE_BYTES);
	}
	last = pieces[count - 1];
	for (size_t i = 0; i + 1 < count; i++)
		free(pieces[i]);
	free(pieces);
	return last;
}

static void test_heap_that_was_large(void **state)
{
	const size_t bytes = 8 * HEAP_KEPT_BYTES;
	void *last = peak_and_fall(bytes);
	const size_t before = resident_bytes();

	(void)state;
	heap_give_back();
	assert_true(resident_bytes() + bytes / 2 < before);
	free(last);
}

static void test_heap_that_is_small(void **state)
{
	void *last = peak_and_fall(HEAP_KEPT_BYTES / 4);
	const size_t before = resident_bytes();

	(void)state;
	heap_give_back();
	assert_true(resident_bytes() + HEAP_KEPT_BYTES / 8 > before);
	free(last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heap_that_is_small),
		cmocka_unit_test(test_heap_that_was_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
