/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/unit_test.h"

/* Makes one page of an area bad. */
typedef void spoil_function(uint8_t *page);

static void unmap(uint8_t *page)
{
	CHECK(munmap(page, page_bytes()) == 0);
}

static void protect(uint8_t *page)
{
	CHECK(mprotect(page, page_bytes(), PROT_NONE) == 0);
}

static void make_read_only(uint8_t *page)
{
	CHECK(mprotect(page, page_bytes(), PROT_READ) == 0);
}

static void truncate_file(uint8_t *page)
{
	uint8_t *truncated = map_truncated();

	CHECK(mremap(truncated, page_bytes(), page_bytes(), MREMAP_MAYMOVE | MREMAP_FIXED, page) ==
	      page);
}

/* Three pages; the ones beside the middle one are bad. Returns the middle one. */
static uint8_t *make_area(spoil_function *spoil)
{
	uint8_t *area = map_pages(3, PROT_READ | PROT_WRITE);

	spoil(area);
	spoil(area + 2 * page_bytes());
	memset(area + page_bytes(), 0xee, page_bytes());
	return area + page_bytes();
}

static bool all_are(const uint8_t *bytes, size_t count, uint8_t value)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

static uint8_t private_bytes[8192];

/* `offset` is where the range starts in the good page; `good` bytes of the range are in the page.
 */
static void write_range(uint8_t *page, ptrdiff_t offset, size_t bytes)
{
	const size_t good = offset < 0 ? 0 : page_bytes() - (size_t)offset;

	memset(page, 0xee, page_bytes());
	CHECK(guard->write(page + offset, private_bytes, bytes) == -EFAULT);
	CHECK(all_are(page, page_bytes() - good, 0xee));
}

static void write_across_edges(spoil_function *spoil)
{
	static const size_t sizes[] = {1, 2, 7, 8, 9, 64, 100, 4096};
	uint8_t *page = make_area(spoil);

	for (size_t i = 0; i < COUNT_OF(sizes); i++)
		for (size_t missing = 1; missing <= sizes[i]; missing += missing < 40 ? 1 : 97) {
			const size_t there = sizes[i] - missing;

			write_range(page, (ptrdiff_t)(page_bytes() - there), sizes[i]);
			write_range(page, -(ptrdiff_t)missing, sizes[i]);
		}
}

static void read_across_edges(spoil_function *spoil)
{
	static const size_t sizes[] = {1, 2, 7, 8, 9, 64, 100, 4096};
	const uint8_t *page = make_area(spoil);

	for (size_t i = 0; i < COUNT_OF(sizes); i++)
		for (size_t missing = 1; missing <= sizes[i]; missing += missing < 40 ? 1 : 97) {
			const size_t there = sizes[i] - missing;
			const uint8_t *end = page + page_bytes();

			memset(private_bytes, 0x11, sizeof(private_bytes));
			CHECK(guard->read(private_bytes, end - there, sizes[i]) == -EFAULT);
			CHECK(all_are(private_bytes + there, sizeof(private_bytes) - there, 0x11));
			CHECK(guard->read(private_bytes, page - missing, sizes[i]) == -EFAULT);
		}
}

static void use_bad_words(uint64_t *word)
{
	uint64_t original = 7;

	CHECK(guard->fetch_add(word, 1, &original) == -EFAULT);
	CHECK(guard->compare_swap(word, 0, 1, &original) == -EFAULT);
	CHECK(guard->compare_swap(word, 1, 1, &original) == -EFAULT);
	CHECK(original == 7);
}

static void spoil_in_all_ways(spoil_function *spoil, bool is_readable)
{
	struct rnic_guard_turn turn;
	uint8_t *page;

	open_guard();
	CHECK(guard->turn_begin(&turn) == 0);
	write_across_edges(spoil);
	if (!is_readable)
		read_across_edges(spoil);
	page = make_area(spoil);
	use_bad_words((uint64_t *)(void *)(page - 8));
	use_bad_words((uint64_t *)(void *)(page + page_bytes()));
	guard->turn_end(&turn);
}

static void reach_unmapped(void)
{
	spoil_in_all_ways(unmap, false);
}

static void reach_protected(void)
{
	spoil_in_all_ways(protect, false);
}

static void reach_read_only(void)
{
	spoil_in_all_ways(make_read_only, true);
}

static void reach_truncated(void)
{
	spoil_in_all_ways(truncate_file, false);
}

/* The kernel reports some of these without the address. */
static void reach_impossible_addresses(void)
{
	static const uint64_t addresses[] = {
		0,
		8,
		UINT64_C(0x0000800000000000),
		UINT64_C(0x8000000000000000),
		UINT64_C(0xdeadbeefdeadbee8),
		UINT64_C(0xffff800000000000),
		UINT64_C(0xffffffff81000000),
		UINT64_C(0xfffffffffffffff8),
	};

	open_guard();
	for (size_t i = 0; i < COUNT_OF(addresses); i++)
		for (size_t bytes = 1; bytes <= 8; bytes++) {
			uint8_t *address = (uint8_t *)(uintptr_t)addresses[i];

			CHECK(guard->write(address, private_bytes, bytes) == -EFAULT);
			CHECK(guard->read(private_bytes, address, bytes) == -EFAULT);
			use_bad_words((uint64_t *)(void *)address);
		}
}

/* Where a page of a file that is not there lies between pages that are. */
static void reach_hole(void)
{
	uint8_t *page = make_area(truncate_file);
	uint8_t *bytes = map_pages(2, PROT_READ | PROT_WRITE);

	open_guard();
	CHECK(guard->write(page, bytes, page_bytes() + 1) == -EFAULT);
	CHECK(guard->write(page, bytes, page_bytes()) == 0);
	CHECK(guard->read(bytes, page, page_bytes()) == 0);
}

SUCCEEDS(unmapped_memory_is_an_error, reach_unmapped)
SUCCEEDS(protected_memory_is_an_error, reach_protected)
SUCCEEDS(a_write_to_read_only_memory_is_an_error, reach_read_only)
SUCCEEDS(a_truncated_file_is_an_error, reach_truncated)
SUCCEEDS(addresses_that_cannot_be_are_an_error, reach_impossible_addresses)
SUCCEEDS(a_missing_page_of_a_file_is_an_error, reach_hole)

static void copy_without_guard(void)
{
	uint8_t *page = map_pages(1, PROT_NONE);

	open_guard();
	store_byte(page);
}

/* The guard is for its own copies alone. */
static void a_store_of_the_application_still_kills(void **state)
{
	(void)state;
	expect_death(copy_without_guard, SIGSEGV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unmapped_memory_is_an_error),
		cmocka_unit_test(protected_memory_is_an_error),
		cmocka_unit_test(a_write_to_read_only_memory_is_an_error),
		cmocka_unit_test(a_truncated_file_is_an_error),
		cmocka_unit_test(addresses_that_cannot_be_are_an_error),
		cmocka_unit_test(a_missing_page_of_a_file_is_an_error),
		cmocka_unit_test(a_store_of_the_application_still_kills),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
