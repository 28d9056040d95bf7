/* SPDX-License-Identifier: MIT */
/* A child process lends its memory. All tests run once for each way of reaching it. */
#include "daemon/device/memory/remote_memory.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	   UINT64_C(4096)
#define PAGES	   64
#define HOLE	   32 /* this page of the child is not there */
#define FIXED	   34 /* this page of the child cannot be written */
#define AREA_BYTES (PAGES * PAGE)
#define BATCH	   16

/* Our copy and the child's lie at the same address, since the child is a fork. */
static uint8_t *area;

struct child {
	pid_t pid;
	int hold; /* it lives until this is closed */
	struct remote_process process;
	struct remote_region region;
	bool has_ended;
	bool is_refused; /* this machine does not allow that way */
};

/* Which ways a run may use; has_process_vm and mem_fd are taken away after the probe. */
enum way { BOTH, ONLY_DESCRIPTOR, ONLY_PROCESS_VM };

static int open_memory(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

static int open_process(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int start_child(void **state, enum way way)
{
	struct child *child = calloc(1, sizeof(*child));
	int hold[2], ready[2];
	uint8_t byte = 0;
	int mem_fd;
	int ret;

	assert_int_equal(pipe(hold), 0);
	assert_int_equal(pipe(ready), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		close(hold[1]);
		munmap(area + HOLE * PAGE, PAGE);
		mprotect(area + FIXED * PAGE, PAGE, PROT_READ);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		_exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(hold[0]);
	child->hold = hold[1];
	mem_fd = way == ONLY_PROCESS_VM ? -1 : open_memory(child->pid);
	*state = child;
	ret = remote_process_init(&child->process, child->pid, open_process(child->pid), mem_fd);
	child->is_refused = ret == -EPERM && way == ONLY_PROCESS_VM;
	if (child->is_refused) {
		child->process.mem_fd = -1;
		return 0;
	}
	assert_int_equal(ret, 0);
	if (way == ONLY_DESCRIPTOR)
		child->process.has_process_vm = false;
	assert_int_equal(remote_region_init(&child->region, &child->process,
					    (uint64_t)(uintptr_t)area, AREA_BYTES),
			 0);
	return 0;
}

static int start_both(void **state)
{
	return start_child(state, BOTH);
}

static int start_descriptor(void **state)
{
	return start_child(state, ONLY_DESCRIPTOR);
}

static int start_process_vm(void **state)
{
	return start_child(state, ONLY_PROCESS_VM);
}

static void end_child(struct child *child)
{
	int status;

	close(child->hold);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_int_equal(status, 0);
	child->has_ended = true;
}

static int tear_down(void **state)
{
	struct child *child = *state;

	if (!child->has_ended)
		end_child(child);
	remote_process_fini(&child->process);
	free(child);
	return 0;
}

/* The child of a test, which is skipped, and says why, where its way is closed. */
static struct child *child_of(void **state)
{
	struct child *child = *state;

	if (child->is_refused) {
		print_message("process_vm_readv of a child is not permitted here\n");
		skip();
	}
	return child;
}

/* `count` transfers of `length` bytes, `stride` apart in the child from `offset` on. */
static void make_transfers(struct memory_transfer *transfers, uint32_t count, struct child *child,
			   uint64_t offset, uint64_t stride, uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < count; i++)
		transfers[i] = (struct memory_transfer){&child->region.region, offset + i * stride,
							bytes + (uint64_t)i * length, length};
}

static void what_is_written_is_read(void **state)
{
	static const struct {
		uint64_t stride;
		uint32_t length;
	} shapes[] = {{8, 8}, {4096, 4096}, {4096, 100}, {1, 1}, {8192, 3000}};
	static uint8_t out[BATCH * 4096], in[BATCH * 4096];
	struct child *child = child_of(state);
	const struct client_memory_ops *ops = child->region.region.ops;
	struct memory_transfer transfers[BATCH];
	int error = 0;

	for (size_t shape = 0; shape < sizeof(shapes) / sizeof(shapes[0]); shape++) {
		uint32_t length = shapes[shape].length;

		for (uint32_t i = 0; i < BATCH * length; i++)
			out[i] = (uint8_t)(i * 7 + shape);
		make_transfers(transfers, BATCH, child, 5, shapes[shape].stride, out, length);
		assert_int_equal(ops->write(transfers, BATCH, &error), BATCH);
		make_transfers(transfers, BATCH, child, 5, shapes[shape].stride, in, length);
		assert_int_equal(ops->read(transfers, BATCH, &error), BATCH);
		assert_memory_equal(in, out, BATCH * length);
		assert_int_equal(ops->write(transfers, 1, &error), 1);
	}
	assert_int_equal(area[5], 0); /* ours is not the child's */
}

static void a_failure_names_its_transfer(void **state)
{
	static uint8_t bytes[BATCH * 4096];
	struct child *child = child_of(state);
	const struct client_memory_ops *ops = child->region.region.ops;
	struct memory_transfer transfers[BATCH];
	int error = 0;

	/* Adjacent transfers, so that those before the hole are merged with the one in it. */
	make_transfers(transfers, BATCH, child, (HOLE - 4) * PAGE, PAGE, bytes, 4096);
	assert_int_equal(ops->write(transfers, BATCH, &error), 4);
	assert_int_equal(error, -EFAULT);
	error = 0;
	assert_int_equal(ops->read(transfers + 4, BATCH - 4, &error), 0);
	assert_int_equal(error, -EFAULT);
	/* Scattered and small transfers, the third of which lies across the border. */
	make_transfers(transfers, 4, child, (HOLE - 2) * PAGE - 50, PAGE, bytes, 100);
	error = 0;
	assert_int_equal(ops->write(transfers, 4, &error), 2);
	assert_int_equal(error, -EFAULT);
	assert_int_equal(ops->write(transfers, 2, &error), 2);
}

/* Gaps of all sizes, forwards and back, over the borders of pages: each gets its own bytes. */
static void reads_close_together_are_kept_apart(void **state)
{
	static uint8_t pattern[3 * PAGE], in[BATCH * 4 * 64];
	struct child *child = child_of(state);
	const struct client_memory_ops *ops = child->region.region.ops;
	struct memory_transfer whole = {&child->region.region, 7, pattern, sizeof(pattern)};
	struct memory_transfer transfers[BATCH * 4];
	uint64_t offset = 0;
	int error = 0;

	for (uint32_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 31 + (i >> 8));
	assert_int_equal(ops->write(&whole, 1, &error), 1);
	for (uint32_t round = 0; round < 100; round++) {
		for (uint32_t i = 0; i < BATCH * 4; i++) {
			offset = (offset + (i * i + round) % 300 * (i % 9 == 0 ? 17 : 1)) %
				 (sizeof(pattern) - 64);
			transfers[i] =
				(struct memory_transfer){&child->region.region, 7 + offset,
							 in + (size_t)i * 64, 1 + (i + round) % 64};
		}
		assert_int_equal(ops->read(transfers, BATCH * 4, &error), BATCH * 4);
		for (uint32_t i = 0; i < BATCH * 4; i++)
			assert_memory_equal(transfers[i].bytes, pattern + transfers[i].offset - 7,
					    transfers[i].length);
	}
}

/* A hole fails the read that touches it, not those beside it. */
static void reads_close_to_a_hole_succeed(void **state)
{
	static uint8_t bytes[BATCH * 16];
	struct child *child = child_of(state);
	const struct client_memory_ops *ops = child->region.region.ops;
	struct memory_transfer transfers[BATCH];
	int error = 0;

	make_transfers(transfers, BATCH, child, HOLE * PAGE - BATCH * 32, 32, bytes, 16);
	assert_int_equal(ops->read(transfers, BATCH, &error), BATCH);
	make_transfers(transfers, BATCH, child, HOLE * PAGE - 10 * 32 - 8, 32, bytes, 16);
	assert_int_equal(ops->read(transfers, BATCH, &error), 10);
	assert_int_equal(error, -EFAULT);
}

static void atomics_change_the_word(void **state)
{
	struct child *child = child_of(state);
	struct client_region *region = &child->region.region;
	const struct client_memory_ops *ops = region->ops;
	uint64_t original = 1;

	assert_int_equal(ops->fetch_add(region, 64, 42, &original), 0);
	assert_int_equal(original, 0);
	assert_int_equal(ops->compare_swap(region, 64, 42, 7, &original), 0);
	assert_int_equal(original, 42);
	assert_int_equal(ops->compare_swap(region, 64, 42, 9, &original), 0);
	assert_int_equal(original, 7);
	assert_int_equal(ops->fetch_add(region, 64, 0, &original), 0);
	assert_int_equal(original, 7);
	assert_int_equal(ops->store(region, 64, 99), 0);
	assert_int_equal(ops->fetch_add(region, 64, 0, &original), 0);
	assert_int_equal(original, 99);
	assert_int_equal(ops->store(region, HOLE * PAGE, 1), -EFAULT);
	original = 123;
	assert_int_equal(ops->fetch_add(region, HOLE * PAGE, 1, &original), -EFAULT);
	assert_int_equal(original, 123);
}

static void an_ended_process_is_gone(void **state)
{
	static uint8_t bytes[BATCH * 4096];
	struct child *child = child_of(state);
	struct memory_transfer transfers[BATCH];
	int error = 0;

	end_child(child);
	make_transfers(transfers, BATCH, child, 0, 4096, bytes, 4096);
	assert_int_equal(child->region.region.ops->write(transfers, BATCH, &error), 0);
	assert_int_equal(error, -ESRCH);
	error = 0;
	assert_int_equal(child->region.region.ops->read(transfers, 1, &error), 0);
	assert_int_equal(error, -ESRCH);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Reported, not judged: a loaded machine may say anything. */
static void a_batch_is_measured(void **state)
{
	static uint8_t bytes[BATCH * 4096];
	struct child *child = child_of(state);
	const struct client_memory_ops *ops = child->region.region.ops;
	struct memory_transfer transfers[BATCH];
	uint64_t started;
	uint64_t single_ns;
	int error = 0;

	make_transfers(transfers, BATCH, child, 0, 4096, bytes, 4096);
	started = now_ns();
	for (uint32_t round = 0; round < 200; round++)
		for (uint32_t i = 0; i < BATCH; i++)
			assert_int_equal(ops->write(&transfers[i], 1, &error), 1);
	single_ns = now_ns() - started;
	started = now_ns();
	for (uint32_t round = 0; round < 200; round++)
		assert_int_equal(ops->write(transfers, BATCH, &error), BATCH);
	print_message("process_vm %d, descriptor %d: 16 x 4 KiB one by one %.1f GB/s, batched %.1f "
		      "GB/s\n",
		      child->process.has_process_vm, child->process.mem_fd >= 0,
		      200.0 * sizeof(bytes) / (double)single_ns,
		      200.0 * sizeof(bytes) / (double)(now_ns() - started));
}

static void what_is_no_process_memory_is_refused(void **state)
{
	struct remote_process process;
	int pipes[2];
	int file = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	int read_only = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(remote_process_init(&process, getpid(), -1, pipes[1]), -EINVAL);
	assert_int_equal(remote_process_init(&process, getpid(), -1, file), -EINVAL);
	assert_int_equal(remote_process_init(&process, getpid(), -1, read_only), -EINVAL);
	assert_int_equal(remote_process_init(&process, getpid(), -1, -1), -EPERM);
	close(pipes[0]);
	close(pipes[1]);
	close(file);
	close(read_only);
}

/* Memory that was never proven writable is not written by force. */
static void on_demand_asks_the_pages(void **state)
{
	struct child *child = *state;
	uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct memory_transfer transfer = {.bytes = bytes, .length = sizeof(bytes)};
	struct remote_region region;
	int error = 0;
	int ret = remote_region_init_on_demand(&region, &child->process, 0, UINT64_MAX);

	if (!child->process.has_process_vm) {
		assert_int_equal(ret, -EOPNOTSUPP);
		return;
	}
	assert_int_equal(ret, 0);
	transfer.region = &region.region;
	transfer.offset = (uintptr_t)area + PAGE;
	assert_int_equal(region.region.ops->write(&transfer, 1, &error), 1);
	transfer.offset = (uintptr_t)area + FIXED * PAGE;
	assert_int_equal(region.region.ops->write(&transfer, 1, &error), 0);
	assert_int_equal(error, -EFAULT);
	assert_int_equal(region.region.ops->read(&transfer, 1, &error), 1);
	transfer.offset = (uintptr_t)area + HOLE * PAGE;
	assert_int_equal(region.region.ops->read(&transfer, 1, &error), 0);
	assert_int_equal(error, -EFAULT);
}

/* The number of a client that has ended means another process now: ours, which it must not reach.
 */
static void a_number_used_again_is_not_believed(void **state)
{
	struct child *child = *state;
	uint8_t bytes[8] = {0};
	struct memory_transfer transfer = {&child->region.region, 0, bytes, sizeof(bytes)};
	int error = 0;

	if (child->is_refused)
		skip();
	end_child(child);
	child->process.pid = getpid();
	memset(area, 0x77, sizeof(bytes));
	assert_int_equal(child->region.region.ops->read(&transfer, 1, &error), 0);
	assert_int_equal(error, -ESRCH);
	assert_int_equal(bytes[0], 0);
	error = 0;
	assert_int_equal(child->region.region.ops->write(&transfer, 1, &error), 0);
	assert_int_equal(error, -ESRCH);
	assert_int_equal(area[0], 0x77);
}

/* Has the kernel ask a thread that never answers for the page at `address` of this process. */
static bool withhold(void *address)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range = {(uintptr_t)address, PAGE},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	return fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 &&
	       ioctl(fd, UFFDIO_REGISTER, &range) == 0;
}

/* A client of another user, reached by its descriptor only, cannot withhold its pages. */
static void withheld_pages_are_not_waited_for(void **state)
{
	uint8_t *page =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct remote_process process;
	struct remote_region region;
	uint8_t bytes[8] = {0};
	struct memory_transfer transfer = {&region.region, 0, bytes, sizeof(bytes)};
	int error = 0;

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	if (!withhold(page)) {
		print_message("skipped: userfaultfd is not allowed here\n");
		munmap(page, PAGE);
		skip();
	}
	assert_int_equal(remote_process_init(&process, getpid(), -1, open_memory(getpid())), 0);
	assert_int_equal(remote_region_init(&region, &process, (uintptr_t)page, PAGE), 0);
	assert_int_equal(region.region.ops->read(&transfer, 1, &error), 0);
	assert_int_equal(error, -EFAULT);
	assert_int_equal(region.region.ops->write(&transfer, 1, &error), 0);
	assert_int_equal(error, -EFAULT);
	remote_process_fini(&process);
	munmap(page, PAGE);
}

static void a_range_that_wraps_is_refused(void **state)
{
	struct remote_process process = {.mem_fd = -1};
	struct remote_region region;

	(void)state;
	assert_int_equal(remote_region_init(&region, &process, 4096, 0), -EINVAL);
	assert_int_equal(remote_region_init(&region, &process, UINT64_MAX - 10, 12), -EINVAL);
	assert_int_equal(remote_region_init(&region, &process, 4096, 1), 0);
}

#define EACH_WAY(test)                                                                             \
	cmocka_unit_test_setup_teardown(test, start_both, tear_down),                              \
		cmocka_unit_test_setup_teardown(test, start_descriptor, tear_down),                \
		cmocka_unit_test_setup_teardown(test, start_process_vm, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WAY(what_is_written_is_read),
		EACH_WAY(a_failure_names_its_transfer),
		EACH_WAY(reads_close_together_are_kept_apart),
		EACH_WAY(reads_close_to_a_hole_succeed),
		EACH_WAY(atomics_change_the_word),
		EACH_WAY(an_ended_process_is_gone),
		EACH_WAY(a_batch_is_measured),
		EACH_WAY(on_demand_asks_the_pages),
		EACH_WAY(a_number_used_again_is_not_believed),
		cmocka_unit_test(what_is_no_process_memory_is_refused),
		cmocka_unit_test(withheld_pages_are_not_waited_for),
		cmocka_unit_test(a_range_that_wraps_is_refused),
	};

	area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (area == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
