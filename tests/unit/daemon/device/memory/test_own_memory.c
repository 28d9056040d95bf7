/* SPDX-License-Identifier: MIT */
/* A guard of the test stands for that of the process, which has tests of its own. */
#include "daemon/device/memory/own_memory.h"

#include "lib/dropin/guard/guard.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define AREA_WORDS 8

static uint64_t area[AREA_WORDS];
static const void *missing; /* an address that faults */
static int turn_error;
static uint32_t turns_begun, turns_ended;

static int fake_turn_begin(struct rnic_guard_turn *turn)
{
	*turn = (struct rnic_guard_turn){0};
	if (turn_error != 0)
		return turn_error;
	turns_begun++;
	return 0;
}

static void fake_turn_end(const struct rnic_guard_turn *turn)
{
	(void)turn;
	turns_ended++;
}

static int fake_write(void *to, const void *from, size_t bytes)
{
	if (to == missing)
		return -EFAULT;
	memcpy(to, from, bytes);
	return 0;
}

static int fake_read(void *to, const void *from, size_t bytes)
{
	if (from == missing)
		return -EFAULT;
	memcpy(to, from, bytes);
	return 0;
}

static int fake_fetch_add(uint64_t *word, uint64_t add, uint64_t *original)
{
	if (word == missing)
		return -EFAULT;
	*original = *word;
	*word += add;
	return 0;
}

static int fake_compare_swap(uint64_t *word, uint64_t compare, uint64_t swap, uint64_t *original)
{
	if (word == missing)
		return -EFAULT;
	*original = *word;
	if (*word == compare)
		*word = swap;
	return 0;
}

static const struct rnic_guard guard = {
	.turn_begin = fake_turn_begin,
	.turn_end = fake_turn_end,
	.write = fake_write,
	.read = fake_read,
	.fetch_add = fake_fetch_add,
	.compare_swap = fake_compare_swap,
};

static struct remote_process process;
static struct remote_region region;

static int own_setup(void **state)
{
	const int memory_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	(void)state;
	missing = NULL;
	turn_error = 0;
	turns_begun = turns_ended = 0;
	memset(area, 0, sizeof(area));
	assert_int_equal(remote_process_init(&process, getpid(), -1, memory_fd), 0);
	assert_int_equal(remote_region_init(&region, &process, (uintptr_t)area, sizeof(area)), 0);
	own_region_init(&region, &guard);
	return 0;
}

static int own_teardown(void **state)
{
	(void)state;
	remote_process_fini(&process);
	return 0;
}

/* A transfer of the word at `index` from or to `word`. */
static struct memory_transfer transfer_of(uint32_t index, uint64_t *word)
{
	return (struct memory_transfer){
		.region = &region.region,
		.offset = index * sizeof(*word),
		.bytes = (uint8_t *)word,
		.length = sizeof(*word),
	};
}

static void test_one_turn_for_a_batch(void **state)
{
	uint64_t words[] = {11, 22}, found[2];
	const struct memory_transfer out[] = {transfer_of(3, &words[0]), transfer_of(5, &words[1])};
	const struct memory_transfer in[] = {transfer_of(3, &found[0]), transfer_of(5, &found[1])};
	int error = 0;

	(void)state;
	assert_int_equal(region.region.ops->write(out, 2, &error), 2);
	assert_int_equal(area[3], 11);
	assert_int_equal(area[5], 22);
	assert_int_equal(turns_begun, 1);
	assert_int_equal(region.region.ops->read(in, 2, &error), 2);
	assert_memory_equal(found, words, sizeof(words));
	assert_int_equal(turns_begun, 2);
	assert_int_equal(turns_ended, 2);
	assert_int_equal(error, 0);
}

/*
 * Makes the region one whose first word lies in a page of its own, and the others in the next page,
 * which faults. Returns the page that faults.
 */
static uint8_t *own_two_pages(size_t page)
{
	uint8_t *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	missing = pages + page;
	assert_int_equal(remote_region_init(&region, &process,
					    (uintptr_t)missing - sizeof(uint64_t),
					    3 * sizeof(uint64_t)),
			 0);
	own_region_init(&region, &guard);
	return pages + page;
}

static void test_memory_that_is_gone(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t words[] = {1, 2, 3};
	uint8_t *gone = own_two_pages(page);
	const struct memory_transfer all[] = {transfer_of(0, &words[0]), transfer_of(1, &words[1]),
					      transfer_of(2, &words[2])};
	int error = 0;

	(void)state;
	assert_int_equal(munmap(gone, page), 0);
	assert_int_equal(region.region.ops->write(all, 3, &error), 1);
	assert_int_equal(error, -EFAULT);
	error = 0;
	assert_int_equal(region.region.ops->read(all, 3, &error), 1);
	assert_int_equal(error, -EFAULT);
	assert_int_equal(region.region.ops->store(&region.region, sizeof(uint64_t), 7), -EFAULT);
	assert_int_equal(turns_begun, turns_ended);
	munmap(gone - page, page);
}

/* A device reaches pinned pages whatever the program may do with them. */
static void test_memory_that_is_protected(void **state)
{
	const struct client_memory_ops *ops = region.region.ops;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t words[] = {1, 2}, found[2], original;
	uint8_t *protected = own_two_pages(page);
	const struct memory_transfer out[] = {transfer_of(0, &words[0]), transfer_of(1, &words[1])};
	const struct memory_transfer in[] = {transfer_of(0, &found[0]), transfer_of(1, &found[1])};
	int error = 0;

	(void)state;
	assert_int_equal(mprotect(protected, page, PROT_NONE), 0);
	assert_int_equal(ops->write(out, 2, &error), 2);
	assert_int_equal(ops->read(in, 2, &error), 2);
	assert_memory_equal(found, words, sizeof(words));
	assert_int_equal(ops->fetch_add(&region.region, 8, 5, &original), 0);
	assert_int_equal(ops->compare_swap(&region.region, 8, 7, 9, &original), 0);
	assert_int_equal(ops->store(&region.region, 8, 4), 0);
	assert_int_equal(mprotect(protected, page, PROT_READ), 0);
	assert_int_equal(*(uint64_t *)(void *)protected, 4);
	assert_int_equal(turns_begun, turns_ended);
	munmap(protected - page, 2 * page);
}

static void test_atomics_of_own_memory(void **state)
{
	const struct client_memory_ops *ops = region.region.ops;
	uint64_t original;

	(void)state;
	area[2] = 40;
	assert_int_equal(ops->fetch_add(&region.region, 16, 2, &original), 0);
	assert_int_equal(original, 40);
	assert_int_equal(ops->compare_swap(&region.region, 16, 42, 5, &original), 0);
	assert_int_equal(original, 42);
	assert_int_equal(ops->store(&region.region, 24, 9), 0);
	assert_int_equal(area[2], 5);
	assert_int_equal(area[3], 9);
	assert_int_equal(turns_begun, 3);
	assert_int_equal(turns_ended, 3);
}

/* While strange code has the signals, system calls reach the memory. */
static void test_a_busy_guard(void **state)
{
	uint64_t word = 77, found = 0, original;
	const struct memory_transfer out = transfer_of(4, &word), in = transfer_of(4, &found);
	int error = 0;

	(void)state;
	turn_error = -EBUSY;
	missing = &area[4];
	assert_int_equal(region.region.ops->write(&out, 1, &error), 1);
	assert_int_equal(region.region.ops->read(&in, 1, &error), 1);
	assert_int_equal(found, 77);
	assert_int_equal(region.region.ops->fetch_add(&region.region, 32, 1, &original), 0);
	assert_int_equal(original, 77);
	assert_int_equal(region.region.ops->compare_swap(&region.region, 32, 78, 1, &original), 0);
	assert_int_equal(area[4], 1);
	assert_int_equal(turns_begun, 0);
	assert_int_equal(turns_ended, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, own_setup, own_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_turn_for_a_batch),
		TEST(test_memory_that_is_gone),
		TEST(test_memory_that_is_protected),
		TEST(test_atomics_of_own_memory),
		TEST(test_a_busy_guard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
