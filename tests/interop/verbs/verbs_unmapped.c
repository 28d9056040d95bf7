/* SPDX-License-Identifier: MIT */
/*
 * Memory that the program takes away, moves or protects while a region is registered there: run
 * under rnic-run, on a device with one address. What a peer sends to memory that is gone ends in an
 * error, and leaves alone whatever is mapped there now.
 */
#include "tests/interop/verbs/verbs_pair.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	   UINT64_C(4096)
#define AREA_PAGES 4
#define AREA_BYTES (AREA_PAGES * PAGE)
#define OLD_BYTE   0x11
#define NEW_BYTE   0x22
#define SENT_BYTE  0x33
#define HUGE_BYTES (UINT64_C(1) << 21)

#define SMALL_REGIONS 4000
#define STORM_THREADS 2
#define STORM_CALLS   2000
#define STORM_LONG    1000000

struct area {
	struct pair *pair;
	uint8_t *bytes; /* AREA_BYTES, registered */
	struct ibv_mr *mr;
};

static uint8_t *map_at(void *place, uint64_t bytes, uint8_t fill)
{
	uint8_t *made = mmap(
		place, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | (place != NULL ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	assert_ptr_not_equal(made, MAP_FAILED);
	memset(made, fill, bytes);
	return made;
}

static struct area area_open_at(uint8_t *bytes)
{
	struct area area = {.pair = pair_start(IBV_QPT_RC), .bytes = bytes};

	area.mr = ibv_reg_mr(area.pair->pd, area.bytes, AREA_BYTES, PAIR_RIGHTS);
	assert_non_null(area.mr);
	memset(area.pair->bytes, SENT_BYTE, PAIR_BYTES);
	return area;
}

static struct area area_open(void)
{
	return area_open_at(map_at(NULL, AREA_BYTES, OLD_BYTE));
}

static void area_close(struct area *area)
{
	assert_int_equal(ibv_dereg_mr(area->mr), 0);
	munmap(area->bytes, AREA_BYTES);
	pair_stop(area->pair);
}

/* Unmaps pages of the area, and maps others there. */
static void replace_pages(struct area *area, uint64_t first, uint64_t count)
{
	assert_int_equal(munmap(area->bytes + first * PAGE, count * PAGE), 0);
	map_at(area->bytes + first * PAGE, count * PAGE, NEW_BYTE);
}

static bool is_all(const uint8_t *bytes, uint64_t count, uint8_t value)
{
	for (uint64_t i = 0; i < count; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

/* Some calls have other answers there, such as mremap(2) and free(3). */
static bool is_under_valgrind(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded != NULL && strstr(preloaded, "/vgpreload_core") != NULL;
}

/* --- requests of the peer, end 0, to the area, which is end 1's ------------------------------- */

static void send_request(struct area *area, enum ibv_wr_opcode opcode, uint64_t remote,
			 uint32_t length)
{
	struct ibv_sge local = {.addr = (uintptr_t)area->pair->bytes,
				.length = length,
				.lkey = area->pair->mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &local, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = area->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = area->mr->rkey;
	}
	assert_int_equal(ibv_post_send(area->pair->ends[0].qp, &wr, &bad), 0);
}

static void post_receive(struct area *area, uint64_t address, uint32_t length)
{
	struct ibv_sge place = {.addr = address, .length = length, .lkey = area->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &place, .num_sge = 1};
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_recv(area->pair->ends[1].qp, &wr, &bad), 0);
}

/* Returns the status with which a request of `length` bytes to page `page` of the area ends. */
static enum ibv_wc_status request_status(struct area *area, enum ibv_wr_opcode opcode,
					 uint64_t page, uint32_t length)
{
	const uint64_t remote = (uintptr_t)area->bytes + page * PAGE;

	if (opcode == IBV_WR_SEND)
		post_receive(area, remote, length);
	send_request(area, opcode, remote, length);
	return pair_wait(area->pair, 0).status;
}

static void expect_write(struct area *area, uint64_t page)
{
	assert_int_equal(request_status(area, IBV_WR_RDMA_WRITE, page, 100), IBV_WC_SUCCESS);
}

/* --- tests ------------------------------------------------------------------------------------ */

static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
					     IBV_WR_ATOMIC_FETCH_AND_ADD};

#define OPCODES (sizeof(opcodes) / sizeof(opcodes[0]))

static void requests_to_replaced_memory_fail(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPCODES; i++) {
		struct area area = area_open();

		expect_write(&area, 0);
		replace_pages(&area, 0, AREA_PAGES);
		assert_int_equal(request_status(&area, opcodes[i], 1, 8), IBV_WC_REM_OP_ERR);
		assert_true(is_all(area.bytes, AREA_BYTES, NEW_BYTE));
		assert_true(is_all(area.pair->bytes, PAIR_BYTES, SENT_BYTE));
		area_close(&area);
	}
}

/* Nothing comes to the place of the memory: so with and without the watch. */
static void requests_to_unmapped_memory_fail(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPCODES; i++) {
		struct area area = area_open();

		expect_write(&area, 0);
		assert_int_equal(munmap(area.bytes, AREA_BYTES), 0);
		assert_int_equal(request_status(&area, opcodes[i], 1, 8), IBV_WC_REM_OP_ERR);
		assert_true(is_all(area.pair->bytes, PAIR_BYTES, SENT_BYTE));
		area_close(&area);
	}
}

/* MAP_FIXED unmaps, too. */
static void requests_to_overmapped_memory_fail(void **state)
{
	struct area area = area_open();

	(void)state;
	assert_ptr_equal(mmap(area.bytes, AREA_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 area.bytes);
	assert_int_equal(request_status(&area, IBV_WR_RDMA_WRITE, 0, 100), IBV_WC_REM_OP_ERR);
	assert_true(is_all(area.bytes, AREA_BYTES, 0));
	area_close(&area);
}

static void what_replaced_memory_has_is_not_sent(void **state)
{
	struct area area = area_open();
	struct ibv_sge local = {
		.addr = (uintptr_t)area.bytes, .length = 100, .lkey = area.mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &local,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	(void)state;
	wr.wr.rdma.remote_addr = (uintptr_t)area.pair->bytes;
	wr.wr.rdma.rkey = area.pair->mr->rkey;
	replace_pages(&area, 0, AREA_PAGES);
	assert_int_equal(ibv_post_send(area.pair->ends[1].qp, &wr, &bad), 0);
	pair_expect(area.pair, 1, 0, IBV_WC_LOC_PROT_ERR);
	assert_true(is_all(area.pair->bytes, PAIR_BYTES, SENT_BYTE));
	area_close(&area);
}

/* Page 1 goes, and a request that reaches from page 0 into page 1 with it. */
static void a_partial_unmap_ends_that_part_alone(void **state)
{
	struct area area = area_open();

	(void)state;
	replace_pages(&area, 1, 1);
	expect_write(&area, 0);
	expect_write(&area, 2);
	assert_int_equal(request_status(&area, IBV_WR_SEND, 3, 8), IBV_WC_SUCCESS);
	assert_int_equal(request_status(&area, IBV_WR_RDMA_READ, 2, PAGE), IBV_WC_SUCCESS);
	assert_true(is_all(area.pair->bytes, 100, SENT_BYTE));
	assert_int_equal(request_status(&area, IBV_WR_RDMA_READ, 0, PAGE), IBV_WC_SUCCESS);
	memset(area.pair->bytes, SENT_BYTE, PAIR_BYTES);
	assert_int_equal(request_status(&area, IBV_WR_RDMA_WRITE, 1, 8), IBV_WC_REM_OP_ERR);
	assert_true(is_all(area.bytes + PAGE, PAGE, NEW_BYTE));
	assert_true(is_all(area.bytes, 100, SENT_BYTE));
	area_close(&area);
}

/* One that was registered before the unmap and one after: the newer one names the new memory. */
static void a_new_region_names_the_new_memory(void **state)
{
	struct area area = area_open();
	struct ibv_mr *old = area.mr;

	(void)state;
	replace_pages(&area, 0, AREA_PAGES);
	area.mr = ibv_reg_mr(area.pair->pd, area.bytes, AREA_BYTES, PAIR_RIGHTS);
	assert_non_null(area.mr);
	expect_write(&area, 0);
	assert_true(is_all(area.bytes, 100, SENT_BYTE));
	assert_int_equal(ibv_dereg_mr(old), 0);
	expect_write(&area, 1);
	replace_pages(&area, 0, AREA_PAGES);
	assert_int_equal(request_status(&area, IBV_WR_RDMA_WRITE, 1, 8), IBV_WC_REM_OP_ERR);
	area_close(&area);
}

/* The same pages twice: the end of one region leaves the other one as it was. */
static void pages_of_two_regions_are_watched_to_the_last(void **state)
{
	struct area area = area_open();
	struct ibv_mr *twin = ibv_reg_mr(area.pair->pd, area.bytes + 100, 200, PAIR_RIGHTS);

	(void)state;
	assert_non_null(twin);
	assert_int_equal(ibv_dereg_mr(twin), 0);
	expect_write(&area, 0);
	replace_pages(&area, 0, AREA_PAGES);
	assert_int_equal(request_status(&area, IBV_WR_RDMA_WRITE, 0, 8), IBV_WC_REM_OP_ERR);
	assert_true(is_all(area.bytes, AREA_BYTES, NEW_BYTE));
	area_close(&area);
}

static void a_region_is_reregistered_over_new_memory(void **state)
{
	struct area area = area_open();

	(void)state;
	replace_pages(&area, 0, AREA_PAGES);
	assert_int_equal(ibv_rereg_mr(area.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, area.bytes,
				      AREA_BYTES, 0),
			 0);
	expect_write(&area, 0);
	assert_true(is_all(area.bytes, 100, SENT_BYTE));
	area_close(&area);
}

/* The pages move, and the region with them; others come to their old place. */
static void a_move_is_followed(void **state)
{
	struct area area = area_open();
	uint8_t *place = map_at(NULL, 2 * AREA_BYTES, 0);
	uint8_t *moved;

	(void)state;
	moved = mremap(area.bytes, AREA_BYTES, AREA_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	assert_ptr_equal(moved, place);
	map_at(area.bytes, AREA_BYTES, NEW_BYTE);
	expect_write(&area, 0);
	assert_int_equal(request_status(&area, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 8), IBV_WC_SUCCESS);
	assert_true(is_all(moved, 100, SENT_BYTE));
	assert_int_equal(moved[3 * PAGE], OLD_BYTE + 1);
	assert_true(is_all(area.bytes, AREA_BYTES, NEW_BYTE));
	/* Half of it moves on, and the rest goes. */
	memset(area.pair->bytes, SENT_BYTE, PAIR_BYTES);
	moved = mremap(place, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		       place + AREA_BYTES);
	assert_ptr_equal(moved, place + AREA_BYTES);
	assert_int_equal(munmap(place, AREA_BYTES), 0);
	expect_write(&area, 1);
	assert_true(is_all(moved + PAGE, 100, SENT_BYTE));
	assert_int_equal(request_status(&area, IBV_WR_RDMA_WRITE, 2, 8), IBV_WC_REM_OP_ERR);
	munmap(place, 2 * AREA_BYTES);
	area_close(&area);
}

static void dropped_pages_change_nothing(void **state)
{
	struct area area = area_open();

	(void)state;
	assert_int_equal(madvise(area.bytes, AREA_BYTES, MADV_DONTNEED), 0);
	expect_write(&area, 1);
	assert_true(is_all(area.bytes + PAGE, 100, SENT_BYTE));
	assert_true(is_all(area.bytes, PAGE, 0));
	area_close(&area);
}

static void memory_on_demand_follows_new_mappings(void **state)
{
	struct area area = area_open();
	struct ibv_mr *on_demand;

	(void)state;
	on_demand = ibv_reg_mr(area.pair->pd, area.bytes, AREA_BYTES,
			       PAIR_RIGHTS | IBV_ACCESS_ON_DEMAND);
	if (on_demand == NULL && errno == EOPNOTSUPP && is_under_valgrind()) {
		printf("skipped: memory on demand, for which valgrind lacks PID descriptors\n");
		area_close(&area);
		return;
	}
	assert_non_null(on_demand);
	assert_int_equal(ibv_dereg_mr(area.mr), 0);
	area.mr = on_demand;
	replace_pages(&area, 0, AREA_PAGES);
	expect_write(&area, 0);
	assert_true(is_all(area.bytes, 100, SENT_BYTE));
	area_close(&area);
}

/* A device writes and reads pinned pages whatever the program may do with them. */
static void protection_after_registration_changes_nothing(void **state)
{
	static const int protections[] = {PROT_READ, PROT_NONE};

	(void)state;
	for (size_t i = 0; i < sizeof(protections) / sizeof(protections[0]); i++) {
		struct area area = area_open();

		assert_int_equal(mprotect(area.bytes, AREA_BYTES, protections[i]), 0);
		expect_write(&area, 0);
		assert_int_equal(request_status(&area, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8),
				 IBV_WC_SUCCESS);
		assert_int_equal(request_status(&area, IBV_WR_RDMA_READ, 2, PAGE), IBV_WC_SUCCESS);
		assert_true(is_all(area.pair->bytes, PAGE, OLD_BYTE));
		assert_int_equal(mprotect(area.bytes, AREA_BYTES, PROT_READ), 0);
		assert_true(is_all(area.bytes, 100, SENT_BYTE));
		area_close(&area);
	}
}

static void shared_memory_that_is_replaced_stays_as_it_is(void **state)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);
	struct area area;
	uint8_t *bytes;

	(void)state;
	assert_int_equal(ftruncate(fd, AREA_BYTES), 0);
	bytes = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	area = area_open_at(bytes);
	expect_write(&area, 0);
	assert_true(is_all(area.bytes, 100, SENT_BYTE));
	replace_pages(&area, 0, AREA_PAGES);
	assert_int_equal(request_status(&area, IBV_WR_RDMA_WRITE, 0, 8), IBV_WC_REM_OP_ERR);
	assert_true(is_all(area.bytes, AREA_BYTES, NEW_BYTE));
	area_close(&area);
	close(fd);
}

/* --- kinds of memory -------------------------------------------------------------------------- */

static uint8_t *map_huge_pages(void)
{
	uint8_t *bytes = mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	return bytes != MAP_FAILED ? bytes : NULL;
}

static uint8_t *map_transparent_huge_pages(void)
{
	uint8_t *bytes = map_at(NULL, HUGE_BYTES, 0);

	madvise(bytes, HUGE_BYTES, MADV_HUGEPAGE);
	return bytes;
}

static uint8_t *map_locked_pages(void)
{
	uint8_t *bytes = map_at(NULL, HUGE_BYTES, 0);

	return mlock(bytes, AREA_BYTES) == 0 ? bytes : NULL;
}

/* A stack may grow below. */
static uint8_t *map_stack(void)
{
	uint8_t *bytes = mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_GROWSDOWN, -1, 0);

	return bytes != MAP_FAILED ? bytes : NULL;
}

static void each_kind_of_memory_is_watched(void **state)
{
	static const struct {
		const char *name;
		uint8_t *(*map)(void);
	} kinds[] = {
		{"huge pages", map_huge_pages},
		{"transparent huge pages", map_transparent_huge_pages},
		{"locked pages", map_locked_pages},
		{"a stack", map_stack},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint8_t *bytes = kinds[i].map();
		struct area area;

		if (bytes == NULL) {
			print_message("%s: this machine has none\n", kinds[i].name);
			continue;
		}
		area = area_open_at(bytes);
		expect_write(&area, 1);
		assert_true(is_all(area.bytes + PAGE, 100, SENT_BYTE));
		assert_int_equal(munmap(bytes, HUGE_BYTES), 0);
		map_at(bytes, AREA_BYTES, NEW_BYTE);
		assert_int_equal(request_status(&area, IBV_WR_RDMA_WRITE, 1, 8), IBV_WC_REM_OP_ERR);
		assert_true(is_all(area.bytes, AREA_BYTES, NEW_BYTE));
		area_close(&area);
	}
}

/* The C library unmaps by itself. */
static void freed_memory_is_gone(void **state)
{
	const size_t bytes = 1 << 20;
	uint8_t *block, *first;
	struct area area;

	(void)state;
	if (is_under_valgrind())
		skip();
	block = malloc(bytes);
	first = (uint8_t *)(((uintptr_t)block + PAGE) & ~(PAGE - 1));
	area = area_open_at(first);
	expect_write(&area, 0);
	free(block);
	map_at(first, AREA_BYTES, NEW_BYTE);
	assert_int_equal(request_status(&area, IBV_WR_RDMA_WRITE, 0, 8), IBV_WC_REM_OP_ERR);
	assert_true(is_all(first, AREA_BYTES, NEW_BYTE));
	area_close(&area);
}

/* Mappings of files are registered, and work as they did. */
static void a_file_is_registered_without_a_watch(void **state)
{
	FILE *file = tmpfile();
	struct area area;
	uint8_t *bytes;

	(void)state;
	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), AREA_BYTES), 0);
	bytes = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	area = area_open_at(bytes);
	expect_write(&area, 0);
	assert_true(is_all(bytes, 100, SENT_BYTE));
	area_close(&area);
	fclose(file);
}

/* A limit: a mapping of which a part is registered cannot move as a whole. realloc() copies. */
static void a_mapping_moves_only_if_all_of_it_is_registered(void **state)
{
	struct area area;
	uint8_t *bytes;

	(void)state;
	if (is_under_valgrind())
		skip();
	bytes = map_at(NULL, 2 * AREA_BYTES, OLD_BYTE);
	area = area_open_at(bytes);
	assert_ptr_equal(mremap(bytes, 2 * AREA_BYTES, 64 * AREA_BYTES, MREMAP_MAYMOVE),
			 MAP_FAILED);
	assert_int_equal(errno, EFAULT);
	expect_write(&area, 0);
	munmap(bytes + AREA_BYTES, AREA_BYTES);
	area_close(&area);
}

/* --- the whole process ------------------------------------------------------------------------ */

static uint32_t count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint32_t count = 0;
	int byte;

	assert_non_null(maps);
	while ((byte = fgetc(maps)) != EOF)
		count += byte == '\n';
	fclose(maps);
	return count;
}

/* Regions of 64 bytes in one block cost the mappings of one registration. */
static void small_regions_of_one_block_are_one_registration(void **state)
{
	struct area area = area_open();
	uint8_t *block = map_at(NULL, SMALL_REGIONS * 64, 0);
	struct ibv_mr *regions[SMALL_REGIONS];
	uint32_t before = count_mappings();

	(void)state;
	for (uint32_t i = 0; i < SMALL_REGIONS; i++) {
		regions[i] = ibv_reg_mr(area.pair->pd, block + i * 64, 64, PAIR_RIGHTS);
		assert_non_null(regions[i]);
	}
	assert_true(count_mappings() <= before + 4);
	for (uint32_t i = 0; i < SMALL_REGIONS; i++)
		assert_int_equal(ibv_dereg_mr(regions[i]), 0);
	munmap(block, SMALL_REGIONS * 64);
	area_close(&area);
}

/* Without the watch all is as it was: the region is what the addresses mean. */
static int child_without_watch(void)
{
	struct area area;

	setenv("RNIC_WATCH", "off", 1);
	area = area_open();
	replace_pages(&area, 0, AREA_PAGES);
	expect_write(&area, 1);
	assert_true(is_all(area.bytes + PAGE, 100, SENT_BYTE));
	area_close(&area);
	return 0;
}

static void the_environment_turns_the_watch_off(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(child_without_watch());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A child has the memory, but no registration: it unmaps at once, and the parent's region stays. */
static void a_child_of_fork_unmaps_its_own(void **state)
{
	struct area area = area_open();
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(munmap(area.bytes, AREA_BYTES) != 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	expect_write(&area, 0);
	assert_true(is_all(area.bytes, 100, SENT_BYTE));
	area_close(&area);
}

/* --- a storm ---------------------------------------------------------------------------------- */

struct storm {
	atomic_uint left; /* calls */
	atomic_bool is_over;
	uint8_t *_Atomic for_handler; /* watched pages that the handler unmaps */
};

static struct storm storm;

static void unmap_in_handler(int number)
{
	uint8_t *bytes = atomic_exchange(&storm.for_handler, NULL);

	(void)number;
	if (bytes != NULL)
		munmap(bytes, AREA_BYTES);
}

/* Registers, writes, unmaps and deregisters, in one of four orders. */
static void storm_step(struct area *area, uint32_t step)
{
	uint8_t *bytes = map_at(NULL, AREA_BYTES, 0);
	struct ibv_mr *mr = ibv_reg_mr(area->pair->pd, bytes, AREA_BYTES, PAIR_RIGHTS);

	assert_non_null(mr);
	if (step % 4 == 0) {
		uint8_t *before = atomic_exchange(&storm.for_handler, bytes);

		if (before != NULL)
			munmap(before, AREA_BYTES);
	} else if (step % 4 == 1) {
		munmap(bytes, PAGE);
		munmap(bytes + PAGE, AREA_BYTES - PAGE);
	}
	expect_write(area, 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	if (step % 4 >= 2)
		munmap(bytes, AREA_BYTES);
}

static void *storm_run(void *context)
{
	struct area area = area_open();

	(void)context;
	for (uint32_t left; (left = atomic_fetch_sub(&storm.left, 1)) > 0 && left < INT32_MAX;)
		storm_step(&area, left);
	area_close(&area);
	return NULL;
}

/* A thread that comes and goes, whose memory the C library maps and unmaps. */
static void *storm_short_thread(void *context)
{
	free(malloc(1 << 18));
	return context;
}

static void *storm_disturb(void *process)
{
	while (!storm.is_over) {
		pthread_t thread;
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
		assert_int_equal(pthread_create(&thread, NULL, storm_short_thread, NULL), 0);
		pthread_join(thread, NULL);
		kill(getpid(), SIGUSR1);
	}
	return process;
}

static void no_order_of_calls_stops_the_program(void **state)
{
	const char *is_long = getenv("RNIC_TEST_LONG");
	struct sigaction action = {.sa_handler = unmap_in_handler, .sa_flags = SA_RESTART};
	pthread_t threads[STORM_THREADS + 1];

	(void)state;
	storm.left = is_long != NULL && *is_long != '\0' ? STORM_LONG : STORM_CALLS;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	for (uint32_t i = 0; i <= STORM_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						i < STORM_THREADS ? storm_run : storm_disturb,
						NULL),
				 0);
	for (uint32_t i = 0; i < STORM_THREADS; i++)
		pthread_join(threads[i], NULL);
	storm.is_over = true;
	pthread_join(threads[STORM_THREADS], NULL);
}

/* What holds with and without the watch. */
#define UNWATCHED_TESTS                                                                            \
	cmocka_unit_test(requests_to_unmapped_memory_fail),                                        \
		cmocka_unit_test(a_region_is_reregistered_over_new_memory),                        \
		cmocka_unit_test(dropped_pages_change_nothing),                                    \
		cmocka_unit_test(memory_on_demand_follows_new_mappings),                           \
		cmocka_unit_test(protection_after_registration_changes_nothing),                   \
		cmocka_unit_test(a_file_is_registered_without_a_watch),                            \
		cmocka_unit_test(the_environment_turns_the_watch_off),                             \
		cmocka_unit_test(a_child_of_fork_unmaps_its_own)

static int run_unwatched(void)
{
	const struct CMUnitTest tests[] = {UNWATCHED_TESTS};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

static int run_all(void)
{
	const struct CMUnitTest tests[] = {
		UNWATCHED_TESTS,
		cmocka_unit_test(requests_to_replaced_memory_fail),
		cmocka_unit_test(requests_to_overmapped_memory_fail),
		cmocka_unit_test(what_replaced_memory_has_is_not_sent),
		cmocka_unit_test(a_partial_unmap_ends_that_part_alone),
		cmocka_unit_test(a_new_region_names_the_new_memory),
		cmocka_unit_test(pages_of_two_regions_are_watched_to_the_last),
		cmocka_unit_test(a_move_is_followed),
		cmocka_unit_test(shared_memory_that_is_replaced_stays_as_it_is),
		cmocka_unit_test(each_kind_of_memory_is_watched),
		cmocka_unit_test(freed_memory_is_gone),
		cmocka_unit_test(a_mapping_moves_only_if_all_of_it_is_registered),
		cmocka_unit_test(small_regions_of_one_block_are_one_registration),
		cmocka_unit_test(no_order_of_calls_stops_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Says why where the environment forbids it. A device inside a program has none under valgrind. */
static bool expects_watch(void)
{
	const bool is_direct = getenv("RNIC_DIRECT") != NULL;
	const int fd = (int)syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC);

	if (fd < 0)
		printf("skipped: what the watch does, since userfaultfd is refused: %s\n",
		       strerror(errno));
	else
		close(fd);
	if (fd >= 0 && is_direct && is_under_valgrind())
		printf("skipped: what the watch does, since valgrind runs the program\n");
	return fd >= 0 && !(is_direct && is_under_valgrind());
}

int main(void)
{
	return expects_watch() ? run_all() : run_unwatched();
}
