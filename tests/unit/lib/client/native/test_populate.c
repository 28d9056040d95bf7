/* SPDX-License-Identifier: MIT */
#include "lib/client/native/populate.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <sys/mman.h>
#include <unistd.h>

/* Four pages: writable, read-only, not accessible, not there. */
static void test_what_may_be_used(void **state)
{
	static const struct {
		unsigned first_page;
		unsigned pages;
		int result_reading;
		int result_writing;
	} rows[] = {
		{0, 1, 0, 0},
		{1, 1, 0, -EFAULT},
		{0, 2, 0, -EFAULT},
		{2, 1, -EFAULT, -EFAULT},
		{0, 3, -EFAULT, -EFAULT},
		{3, 1, -EFAULT, -EFAULT},
	};
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *area =
		mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(area, MAP_FAILED);
	assert_int_equal(mprotect(area + page, page, PROT_READ), 0);
	assert_int_equal(mprotect(area + 2 * page, page, PROT_NONE), 0);
	assert_int_equal(munmap(area + 3 * page, page), 0);
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		const uint8_t *start = area + rows[i].first_page * page + 1;
		const size_t length = rows[i].pages * page - 2;

		assert_int_equal(rnic_populate(start, length, false, RNIC_POPULATE_BYTES),
				 rows[i].result_reading);
		assert_int_equal(rnic_populate(start, length, true, RNIC_POPULATE_BYTES),
				 rows[i].result_writing);
	}
	munmap(area, 3 * page);
}

static void test_a_range_that_wraps(void **state)
{
	(void)state;
	assert_int_equal(rnic_populate((void *)(UINTPTR_MAX - 100), 200, false, 100), -EINVAL);
	assert_int_equal(rnic_populate((void *)(UINTPTR_MAX - 100), 50, false, 100), -EINVAL);
}

/* Returns how many pages of the range are in memory. */
static size_t pages_there(uint8_t *start, size_t pages, size_t page)
{
	unsigned char *present = calloc(pages, 1);
	size_t count = 0;

	assert_non_null(present);
	assert_int_equal(mincore(start, pages * page, present), 0);
	for (size_t i = 0; i < pages; i++)
		count += present[i] & 1;
	free(present);
	return count;
}

/* A sparse range of 1 TiB, of which 16 pages are brought into being, and one of each mapping. */
static void test_a_range_beyond_the_bound(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t bytes = UINT64_C(1) << 40, bound = 16 * page;
	uint8_t *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *last = area + bytes - page;

	(void)state;
	assert_ptr_not_equal(area, MAP_FAILED);
	assert_int_equal(madvise(area, bytes, MADV_NOHUGEPAGE), 0);
	assert_int_equal(rnic_populate(area, bytes, true, bound), 0);
	assert_int_equal(pages_there(area, 16, page), 16);
	assert_int_equal(pages_there(area + bound, 1000, page), 1);
	assert_int_equal(mprotect(last, page, PROT_READ), 0);
	assert_int_equal(rnic_populate(area, bytes, true, bound), -EFAULT);
	assert_int_equal(rnic_populate(area, bytes, false, bound), 0);
	assert_int_equal(munmap(last - page, page), 0);
	assert_int_equal(rnic_populate(area, bytes, false, bound), -EFAULT);
	assert_int_equal(rnic_populate(area, bytes - 2 * page, true, bound), 0);
	munmap(area, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_may_be_used),
		cmocka_unit_test(test_a_range_that_wraps),
		cmocka_unit_test(test_a_range_beyond_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
