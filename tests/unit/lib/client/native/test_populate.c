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

		assert_int_equal(rnic_populate(start, length, false), rows[i].result_reading);
		assert_int_equal(rnic_populate(start, length, true), rows[i].result_writing);
	}
	munmap(area, 3 * page);
}

static void test_a_range_that_wraps(void **state)
{
	(void)state;
	assert_int_equal(rnic_populate((void *)(UINTPTR_MAX - 100), 200, false), -EINVAL);
	assert_int_equal(rnic_populate((void *)(UINTPTR_MAX - 100), 50, false), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_may_be_used),
		cmocka_unit_test(test_a_range_that_wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
