/* SPDX-License-Identifier: MIT */
#include "daemon/device/memory/mapped_memory.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES 16384

static int make_memfd(int seals)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, FILE_BYTES), 0);
	if (seals != 0)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void bytes_are_read_and_written_in_place(void **state)
{
	struct mapped_files files = {0};
	struct mapped_region region;
	uint8_t out[5] = {'h', 'e', 'l', 'l', 'o'};
	uint8_t in[5] = {0};
	uint8_t seen[5];
	struct memory_transfer transfer = {&region.region, 100, out, 5};
	int fd = make_memfd(F_SEAL_SHRINK);
	int error = 0;

	(void)state;
	assert_int_equal(mapped_region_open(&region, &files, fd, 4096, 4096), 0);
	assert_true(region.region.direct);
	assert_int_equal(region.region.ops->write(&transfer, 1, &error), 1);
	assert_int_equal(pread(fd, seen, 5, 4196), 5);
	assert_memory_equal(seen, "hello", 5);
	transfer.bytes = in;
	assert_int_equal(region.region.ops->read(&transfer, 1, &error), 1);
	assert_memory_equal(in, "hello", 5);
	mapped_region_close(&region);
	close(fd);
}

static void what_cannot_be_trusted_is_refused(void **state)
{
	struct mapped_files files = {0};
	struct mapped_region region = {0};
	int growing = make_memfd(0);
	int sealed = make_memfd(F_SEAL_SHRINK);
	int read_only = make_memfd(F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE);
	int pipes[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(mapped_region_open(&region, &files, growing, 0, 4096), -EPERM);
	assert_int_equal(mapped_region_open(&region, &files, read_only, 0, 4096), -EPERM);
	assert_int_equal(mapped_region_open(&region, &files, pipes[0], 0, 4096), -EPERM);
	assert_int_equal(mapped_region_open(&region, &files, -1, 0, 4096), -EPERM);
	assert_int_equal(mapped_region_open(&region, &files, sealed, 0, 0), -EINVAL);
	assert_int_equal(mapped_region_open(&region, &files, sealed, 1, FILE_BYTES), -EINVAL);
	assert_int_equal(mapped_region_open(&region, &files, sealed, UINT64_MAX, 2), -EINVAL);
	assert_null(files.first);
	assert_null(region.bytes);
	close(growing);
	close(sealed);
	close(read_only);
	close(pipes[0]);
	close(pipes[1]);
}

/* A hole in huge pages may find no page to fill it again: touching it would be our end. */
static void huge_pages_are_refused(void **state)
{
	struct mapped_files files = {0};
	struct mapped_region region = {0};
	int fd = memfd_create("test", MFD_HUGETLB | MFD_ALLOW_SEALING | MFD_CLOEXEC);
	struct stat status;

	(void)state;
	if (fd < 0) {
		print_message("skipped: this kernel has no huge pages\n");
		skip();
	}
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(ftruncate(fd, status.st_blksize), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(mapped_region_open(&region, &files, fd, 0, 4096), -EPERM);
	close(fd);
}

/* Our mapping is older than the seal, but later openers of the file cannot use that. */
static void a_seal_against_writing_holds_for_us_too(void **state)
{
	struct mapped_files files = {0};
	struct mapped_region before, after = {0};
	int fd = make_memfd(F_SEAL_SHRINK);

	(void)state;
	assert_int_equal(mapped_region_open(&before, &files, fd, 0, 4096), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	assert_int_equal(mapped_region_open(&after, &files, fd, 0, 4096), -EPERM);
	mapped_region_close(&before);
	close(fd);
}

static void one_file_is_mapped_once(void **state)
{
	struct mapped_files files = {0};
	struct mapped_region a, b, other;
	int fd = make_memfd(F_SEAL_SHRINK);
	int other_fd = make_memfd(F_SEAL_SHRINK);
	int again = dup(fd);

	(void)state;
	assert_int_equal(mapped_region_open(&a, &files, fd, 0, 4096), 0);
	assert_int_equal(mapped_region_open(&b, &files, again, 8192, 4096), 0);
	assert_int_equal(mapped_region_open(&other, &files, other_fd, 0, 4096), 0);
	assert_ptr_equal(a.file, b.file);
	assert_ptr_equal(b.bytes, a.bytes + 8192);
	assert_ptr_not_equal(a.file, other.file);
	mapped_region_close(&a);
	b.bytes[0] = 1; /* still mapped */
	mapped_region_close(&b);
	mapped_region_close(&other);
	assert_null(files.first);
	close(fd);
	close(again);
	close(other_fd);
}

static void a_file_that_grew_is_mapped_anew(void **state)
{
	struct mapped_files files = {0};
	struct mapped_region a, b;
	int fd = make_memfd(F_SEAL_SHRINK);

	(void)state;
	assert_int_equal(mapped_region_open(&a, &files, fd, 0, 4096), 0);
	assert_int_equal(ftruncate(fd, 2 * FILE_BYTES), 0);
	assert_int_equal(mapped_region_open(&b, &files, fd, FILE_BYTES, FILE_BYTES), 0);
	assert_ptr_not_equal(a.file, b.file);
	b.bytes[FILE_BYTES - 1] = 1;
	mapped_region_close(&a);
	mapped_region_close(&b);
	assert_null(files.first);
	close(fd);
}

static void atomics_change_the_word(void **state)
{
	struct mapped_files files = {0};
	struct mapped_region region;
	const struct client_memory_ops *ops;
	uint64_t original = 0;
	uint64_t word = 40;
	int fd = make_memfd(F_SEAL_SHRINK);

	(void)state;
	assert_int_equal(pwrite(fd, &word, sizeof(word), 8), sizeof(word));
	assert_int_equal(mapped_region_open(&region, &files, fd, 0, 4096), 0);
	ops = region.region.ops;
	assert_int_equal(ops->fetch_add(&region.region, 8, 2, &original), 0);
	assert_int_equal(original, 40);
	assert_int_equal(ops->compare_swap(&region.region, 8, 42, 7, &original), 0);
	assert_int_equal(original, 42);
	assert_int_equal(ops->compare_swap(&region.region, 8, 42, 9, &original), 0);
	assert_int_equal(original, 7);
	assert_int_equal(pread(fd, &word, sizeof(word), 8), sizeof(word));
	assert_int_equal(word, 7);
	assert_int_equal(ops->fetch_add(&region.region, 12, 1, &original), -EFAULT);
	assert_int_equal(ops->store(&region.region, 8, 99), 0);
	assert_int_equal(pread(fd, &word, sizeof(word), 8), sizeof(word));
	assert_int_equal(word, 99);
	assert_int_equal(ops->store(&region.region, 12, 1), -EFAULT);
	mapped_region_close(&region);
	close(fd);
}

#define ADDITIONS 1000000 /* of each side, at least */

struct program {
	_Atomic uint64_t *word;
	atomic_bool is_over;
	_Atomic uint64_t additions;
};

static void *add_by_program(void *context)
{
	struct program *program = context;

	while (!atomic_load(&program->is_over)) {
		atomic_fetch_add(program->word, 1);
		atomic_fetch_add(&program->additions, 1);
	}
	return NULL;
}

/* One FETCH & ADD, and one COMPARE & SWAP that is tried until it hits. */
static void add_two_by_device(struct client_region *region)
{
	uint64_t original, found = 0;

	assert_int_equal(region->ops->fetch_add(region, 8, 1, &found), 0);
	do {
		original = found;
		assert_int_equal(
			region->ops->compare_swap(region, 8, original, original + 1, &found), 0);
	} while (found != original);
}

static void atomics_are_atomic_beside_the_programs_own(void **state)
{
	struct mapped_files files = {0};
	struct mapped_region region;
	struct program program = {0};
	int fd = make_memfd(F_SEAL_SHRINK);
	_Atomic uint64_t *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t additions = 0;
	pthread_t thread;

	(void)state;
	assert_ptr_not_equal(words, MAP_FAILED);
	program.word = &words[1];
	assert_int_equal(mapped_region_open(&region, &files, fd, 0, 4096), 0);
	assert_int_equal(pthread_create(&thread, NULL, add_by_program, &program), 0);
	for (; additions < ADDITIONS || atomic_load(&program.additions) < ADDITIONS; additions += 2)
		add_two_by_device(&region.region);
	atomic_store(&program.is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&words[1]), additions + program.additions);
	mapped_region_close(&region);
	munmap((void *)words, 4096);
	close(fd);
}

/* Of a file without bounds only the pages of its regions are mapped, and they count. */
static void a_long_file_is_mapped_in_part(void **state)
{
	const uint64_t gib = UINT64_C(1) << 30;
	struct mapped_files files = {0};
	struct mapped_region first, second, third;
	int fd = memfd_create("long", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(1024 * gib + 4096)), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(mapped_region_open(&first, &files, fd, 5 * gib + 4096, 4096), 0);
	assert_int_equal(files.count, 1);
	assert_int_equal(files.bytes, gib);
	assert_int_equal(mapped_region_open(&second, &files, fd, 5 * gib, gib), 0);
	assert_int_equal(files.count, 1);
	assert_ptr_equal(second.bytes + 4096, first.bytes);
	/* Across a border, and the short end of the file. */
	assert_int_equal(mapped_region_open(&third, &files, fd, 1024 * gib - 1, 4097), 0);
	assert_int_equal(files.count, 2);
	assert_int_equal(files.bytes, 2 * gib + 4096);
	third.bytes[4096] = 1;
	mapped_region_close(&third);
	mapped_region_close(&first);
	assert_int_equal(files.bytes, gib);
	mapped_region_close(&second);
	assert_int_equal(files.count + files.bytes, 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_file_is_mapped_in_part),
		cmocka_unit_test(bytes_are_read_and_written_in_place),
		cmocka_unit_test(what_cannot_be_trusted_is_refused),
		cmocka_unit_test(huge_pages_are_refused),
		cmocka_unit_test(a_seal_against_writing_holds_for_us_too),
		cmocka_unit_test(one_file_is_mapped_once),
		cmocka_unit_test(a_file_that_grew_is_mapped_anew),
		cmocka_unit_test(atomics_change_the_word),
		cmocka_unit_test(atomics_are_atomic_beside_the_programs_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
