/* SPDX-License-Identifier: MIT */
/*
 * Atomics are what the device says of them: IBV_ATOMIC_HCA, atomic with one another, on each kind
 * of memory. Beside a program's own atomics they are atomic in mapped memory only
 * (unit/memory/test_mapped_memory.c).
 */
#include "tests/interop/verbs/verbs_pair.h"
#include "tests/unit/unit_test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADDITIONS 800
#define AT_A_TIME 8

/* Posts `count` FETCH & ADDs of 1. */
static void post_additions(struct pair *pair, uint32_t end, uint32_t count, uint64_t address,
			   uint32_t rkey)
{
	struct ibv_sge sge = {(uintptr_t)pair->bytes + 8 * end, 8, pair->mr->lkey};
	struct ibv_send_wr *bad,
		wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.atomic = {.remote_addr = address, .compare_add = 1, .rkey = rkey},
		};

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(ibv_post_send(pair->ends[end].qp, &wr, &bad), 0);
}

/* Both ends of the pair add to one word at once. */
static void add_from_both_ends(struct pair *pair, uint64_t address, uint32_t rkey)
{
	for (uint32_t done = 0; done < ADDITIONS; done += AT_A_TIME) {
		for (uint32_t end = 0; end < 2; end++)
			post_additions(pair, end, AT_A_TIME, address, rkey);
		for (uint32_t end = 0; end < 2; end++)
			for (uint32_t i = 0; i < AT_A_TIME; i++)
				pair_expect(pair, end, 0, IBV_WC_SUCCESS);
	}
}

/* Two processes, with a registration each, add to one word that they share. */
static void add_from_two_processes(uint64_t *word)
{
	pid_t child = fork();
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_mr *mr = ibv_reg_mr(pair->pd, word, sizeof(*word), PAIR_RIGHTS);
	int status;

	assert_non_null(mr);
	add_from_both_ends(pair, (uintptr_t)word, mr->rkey);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_stop(pair);
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(*word, 4 * ADDITIONS);
}

static void the_device_says_atomic_with_itself(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_device_attr attributes;

	(void)state;
	assert_int_equal(ibv_query_device(pair->context, &attributes), 0);
	assert_int_equal(attributes.atomic_cap, IBV_ATOMIC_HCA);
	pair_stop(pair);
}

static void private_memory(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	uint64_t *word = (uint64_t *)(void *)(pair->bytes + 64);

	(void)state;
	add_from_both_ends(pair, (uintptr_t)word, pair->mr->rkey);
	assert_int_equal(*word, 2 * ADDITIONS);
	pair_stop(pair);
}

static void memory_that_processes_share(void **state)
{
	uint64_t *word =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(word, MAP_FAILED);
	add_from_two_processes(word);
	munmap(word, 4096);
}

static void memory_of_a_file_that_processes_share(void **state)
{
	int fd = memfd_create("word", MFD_CLOEXEC);
	uint64_t *word;

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(word, MAP_FAILED);
	add_from_two_processes(word);
	munmap(word, 4096);
	close(fd);
}

static void device_memory(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_alloc_dm_attr wanted = {.length = 4096};
	struct ibv_dm *dm = ibv_alloc_dm(pair->context, &wanted);
	struct ibv_mr *mr;
	uint64_t found;

	(void)state;
	assert_non_null(dm);
	mr = ibv_reg_dm_mr(pair->pd, dm, 0, 4096, PAIR_RIGHTS | IBV_ACCESS_ZERO_BASED);
	assert_non_null(mr);
	add_from_both_ends(pair, 8, mr->rkey);
	assert_int_equal(ibv_memcpy_from_dm(&found, dm, 8, sizeof(found)), 0);
	assert_int_equal(found, 2 * ADDITIONS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	pair_stop(pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_device_says_atomic_with_itself),
		cmocka_unit_test(private_memory),
		cmocka_unit_test(memory_that_processes_share),
		cmocka_unit_test(memory_of_a_file_that_processes_share),
		cmocka_unit_test(device_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
