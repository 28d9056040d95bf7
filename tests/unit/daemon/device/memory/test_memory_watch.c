/* SPDX-License-Identifier: MIT */
/* The watch of this process's own memory, by the kernel's userfaultfd. */
#include "daemon/device/memory/memory_watch.h"

#include "lib/wait/clock.h"
#include "tests/unit/thread_state.h"
#include "tests/unit/unit_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 4

static struct memory_gate gate;
static uint64_t page;

static int new_userfaultfd(int flags)
{
	return (int)syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC | flags);
}

static struct watched_range range_at(void *address, uint64_t bytes)
{
	return (struct watched_range){.address = (uintptr_t)address, .bytes = bytes};
}

static uint8_t *map_pages(uint64_t count)
{
	uint8_t *pages = mmap(NULL, count * page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	memset(pages, 1, count * page);
	return pages;
}

static void *place_of(const struct watched_range *range, uint64_t offset)
{
	uint64_t address, bytes;

	return memory_watch_find(&gate, range, offset, &address, &bytes)
		       ? (void *)(uintptr_t)address
		       : NULL;
}

static void test_changes_are_known_when_the_call_returns(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint8_t *pages = map_pages(PAGES), *other = map_pages(PAGES);
		struct watched_range range = range_at(pages, PAGES * page);

		assert_int_equal(memory_watch_add(&gate, &range), RNIC_WATCH_ON);
		assert_true(memory_gate_enter(&gate));
		memory_gate_leave(&gate);
		assert_int_equal(munmap(pages + page, page), 0);
		assert_false(memory_gate_enter(&gate));
		memory_gate_leave(&gate);
		assert_ptr_equal(place_of(&range, page), NULL);
		assert_ptr_equal(place_of(&range, 2 * page), pages + 2 * page);
		assert_ptr_equal(mremap(pages + 2 * page, 2 * page, 2 * page,
					MREMAP_MAYMOVE | MREMAP_FIXED, other),
				 other);
		assert_ptr_equal(place_of(&range, 3 * page), other + page);
		assert_int_equal(madvise(other, page, MADV_DONTNEED), 0);
		assert_ptr_equal(place_of(&range, 2 * page), other);
		memory_watch_remove(&gate, &range);
		munmap(pages, page);
		munmap(other, PAGES * page);
	}
}

/* What a region has no longer costs the program nothing: no announcement of it is read. */
static void test_removed_ranges_are_not_announced(void **state)
{
	uint8_t *pages = map_pages(PAGES);
	struct watched_range one = range_at(pages, 2 * page), two = range_at(pages + page, page);
	struct uffdio_register again = {.range = {.start = (uintptr_t)pages, .len = 2 * page},
					.mode = UFFDIO_REGISTER_MODE_WP};
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP};
	const int fd = new_userfaultfd(0);

	(void)state;
	assert_int_equal(ioctl(fd, UFFDIO_API, &api), 0);
	assert_int_equal(memory_watch_add(&gate, &one), RNIC_WATCH_ON);
	assert_int_equal(memory_watch_add(&gate, &two), RNIC_WATCH_ON);
	memory_watch_remove(&gate, &one);
	/* Page 1 is watched still, page 0 is free for another userfaultfd. */
	assert_int_equal(ioctl(fd, UFFDIO_REGISTER, &again), -1);
	assert_int_equal(errno, EBUSY);
	again.range.len = page;
	assert_int_equal(ioctl(fd, UFFDIO_REGISTER, &again), 0);
	/* And what another one has is not watched. */
	assert_int_equal(memory_watch_add(&gate, &one), RNIC_WATCH_HELD);
	close(fd);
	assert_int_equal(memory_watch_add(&gate, &one), RNIC_WATCH_ON);
	memory_watch_remove(&gate, &one);
	memory_watch_remove(&gate, &two);
	munmap(pages, PAGES * page);
}

static void test_mappings_of_files_are_not_watched(void **state)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint8_t *pages = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	struct watched_range range = range_at(pages, page);

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(memory_watch_add(&gate, &range), RNIC_WATCH_KIND);
	munmap(pages, page);
	close(fd);
}

/* Every other page, so that each is a run. */
static void test_too_many_runs_are_not_watched(void **state)
{
	uint8_t *pages = map_pages(2 * LIMIT_WATCHED_RUNS + 2);
	struct watched_range *ranges = calloc(LIMIT_WATCHED_RUNS + 1, sizeof(*ranges));

	(void)state;
	assert_non_null(ranges);
	for (uint32_t i = 0; i <= LIMIT_WATCHED_RUNS; i++) {
		ranges[i] = range_at(pages + 2 * i * page, page);
		assert_int_equal(memory_watch_add(&gate, &ranges[i]),
				 i < LIMIT_WATCHED_RUNS ? RNIC_WATCH_ON : RNIC_WATCH_FULL);
	}
	for (uint32_t i = 0; i < LIMIT_WATCHED_RUNS; i++)
		memory_watch_remove(&gate, &ranges[i]);
	free(ranges);
	munmap(pages, (2 * LIMIT_WATCHED_RUNS + 2) * page);
}

/* A copy that does not end holds up an unmap for a while, and no longer. */
static void test_an_endless_copy_does_not_stop_the_program(void **state)
{
	uint8_t *pages = map_pages(PAGES);
	struct watched_range range = range_at(pages, PAGES * page);
	uint64_t started_ns;

	(void)state;
	assert_int_equal(memory_watch_add(&gate, &range), RNIC_WATCH_ON);
	assert_true(memory_gate_enter(&gate));
	started_ns = clock_now_ns();
	assert_int_equal(munmap(pages, PAGES * page), 0);
	assert_true(clock_now_ns() - started_ns >= WATCH_PATIENCE_NS);
	memory_gate_leave(&gate);
	assert_ptr_equal(place_of(&range, 0), NULL);
	memory_watch_remove(&gate, &range);
}

struct unmapper {
	uint8_t *pages;
	atomic_int tid;
	atomic_bool is_done; /* a copy that lasts too long is not waited for */
	atomic_bool may_end;
};

static void *unmap_in_thread(void *context)
{
	struct unmapper *unmapper = context;

	unmapper->tid = (int)syscall(SYS_gettid);
	munmap(unmapper->pages, PAGES * page);
	unmapper->is_done = true;
	while (!unmapper->may_end)
		sched_yield();
	return NULL;
}

/* Waits until the thread waits in the kernel for nothing but a fatal signal. */
static void await_unmap(const struct unmapper *unmapper)
{
	char state = 0;

	while (unmapper->tid == 0)
		sched_yield();
	while (state != 'D' && !unmapper->is_done) {
		FILE *file = thread_open(unmapper->tid, "stat");

		assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
		fclose(file);
	}
}

/* A copy that is shorter is over before the unmap returns, and the next one waits. */
static void test_an_unmap_waits_for_the_copy_under_way(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		uint8_t *pages = map_pages(PAGES);
		struct watched_range range = range_at(pages, PAGES * page);
		struct unmapper unmapper = {.pages = pages};
		pthread_t thread;

		assert_int_equal(memory_watch_add(&gate, &range), RNIC_WATCH_ON);
		assert_true(memory_gate_enter(&gate));
		assert_int_equal(pthread_create(&thread, NULL, unmap_in_thread, &unmapper), 0);
		await_unmap(&unmapper);
		memory_gate_leave(&gate);
		unmapper.may_end = true;
		pthread_join(thread, NULL);
		assert_false(memory_gate_enter(&gate));
		memory_gate_leave(&gate);
		memory_watch_remove(&gate, &range);
	}
}

/* A child has no registration, and forgets the rest. */
static void test_a_child_unmaps_without_a_wait(void **state)
{
	uint8_t *pages = map_pages(PAGES);
	struct watched_range range = range_at(pages, PAGES * page);
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(memory_watch_add(&gate, &range), RNIC_WATCH_ON);
	child = fork();
	if (child == 0) {
		struct memory_gate own = {0};

		alarm(10);
		memory_watch_forget();
		if (munmap(pages, page) != 0 || memory_gate_open_own(&own) != 0)
			_exit(1);
		range = range_at(pages + page, page);
		gate = own;
		if (memory_watch_add(&gate, &range) != RNIC_WATCH_ON ||
		    munmap(pages + page, page) != 0 || place_of(&range, 0) != NULL)
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_ptr_equal(place_of(&range, 0), pages);
	munmap(pages, PAGES * page);
	assert_ptr_equal(place_of(&range, 0), NULL);
	memory_watch_remove(&gate, &range);
}

static void expect_refusal(int fd, int error)
{
	struct memory_gate other = {0};

	assert_true(fd >= 0);
	assert_int_equal(memory_gate_open(&other, fd), error);
	close(fd);
}

static void test_other_descriptors_are_refused(void **state)
{
	struct uffdio_api api = {.api = UFFD_API};
	int used = new_userfaultfd(O_NONBLOCK);

	(void)state;
	expect_refusal(open("/dev/null", O_RDWR | O_CLOEXEC), -EINVAL);
	expect_refusal(memfd_create("userfaultfd", MFD_CLOEXEC), -EINVAL);
	expect_refusal(new_userfaultfd(0), -EINVAL);
	assert_int_equal(ioctl(used, UFFDIO_API, &api), 0);
	expect_refusal(used, -EOPNOTSUPP);
}

/* A watch by descriptor, as of a client, ends with its gate, also with long ranges. */
static void test_a_watch_ends_with_its_gate(void **state)
{
	struct memory_gate client = {0};
	uint8_t *pages = map_pages(4096);
	struct watched_range range = range_at(pages, 4096 * page);
	uint64_t until_ns = clock_now_ns() + UINT64_C(10000000000);
	const int fd = new_userfaultfd(O_NONBLOCK);

	(void)state;
	assert_int_equal(memory_gate_open(&client, fd), 0);
	assert_int_equal(memory_watch_add(&client, &range), RNIC_WATCH_ON);
	memory_watch_remove(&client, &range);
	memory_gate_close(&client);
	while (fcntl(fd, F_GETFD) >= 0)
		assert_true(clock_now_ns() < until_ns);
	range = range_at(pages, 4096 * page);
	assert_int_equal(memory_watch_add(&gate, &range), RNIC_WATCH_ON);
	memory_watch_remove(&gate, &range);
	munmap(pages, 4096 * page);
}

/* valgrind runs one thread at a time: no thread could read what another one waits for. */
static void test_valgrind_has_no_watch_of_its_own(void **state)
{
	struct memory_gate other = {0};
	void *library = dlopen(VALGRIND_LIBRARY, RTLD_NOW);

	(void)state;
	assert_non_null(library);
	assert_int_equal(memory_gate_open_own(&other), -EOPNOTSUPP);
	assert_null(other.watch);
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes_are_known_when_the_call_returns),
		cmocka_unit_test(test_removed_ranges_are_not_announced),
		cmocka_unit_test(test_mappings_of_files_are_not_watched),
		cmocka_unit_test(test_too_many_runs_are_not_watched),
		cmocka_unit_test(test_an_endless_copy_does_not_stop_the_program),
		cmocka_unit_test(test_an_unmap_waits_for_the_copy_under_way),
		cmocka_unit_test(test_a_child_unmaps_without_a_wait),
		cmocka_unit_test(test_other_descriptors_are_refused),
		cmocka_unit_test(test_a_watch_ends_with_its_gate),
		cmocka_unit_test(test_valgrind_has_no_watch_of_its_own),
	};
	const int error = memory_gate_open_own(&gate);

	page = watched_page_bytes();
	if (error != 0) {
		printf("skipped: this kernel refuses userfaultfd: %s\n", strerror(-error));
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
