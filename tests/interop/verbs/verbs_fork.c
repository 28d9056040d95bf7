/* SPDX-License-Identifier: MIT */
/* Programs that fork with a device open: run under rnic-run, on a device with one address. */
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HALF (BENCH_BYTES / 2)

/* Ends with the status 0 when `is_right`; a child does not run the rest of the tests. */
static void leave_child(bool is_right)
{
	_exit(is_right ? 0 : 1);
}

static void expect_well(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The first half of the bench's memory into the second. */
static void copy_half(struct bench *bench, uint8_t value)
{
	const struct ibv_sge first = {(uintptr_t)bench->bytes, HALF, bench->mr->lkey};

	memset(bench->bytes, value, HALF);
	bench_transfer(bench, IBV_WR_RDMA_WRITE, first, (uintptr_t)bench->bytes + HALF,
		       bench->mr->rkey);
	assert_memory_equal(bench->bytes, bench->bytes + HALF, HALF);
}

static void parent_and_child_have_a_device_each(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC), *own;
	pid_t child;

	(void)state;
	assert_int_equal(ibv_fork_init(), 0);
	copy_half(bench, 1);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		own = bench_start(IBV_QPT_RC);
		copy_half(own, 2);
		bench_stop(own);
		leave_child(true);
	}
	copy_half(bench, 3);
	expect_well(child);
	copy_half(bench, 4);
	bench_stop(bench);
}

/* Nothing that a child does with what its parent opened reaches the parent's device. */
static void a_child_cannot_use_its_parents_device(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct ibv_wc done;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		leave_child(ibv_alloc_pd(bench->context) == NULL &&
			    ibv_reg_mr(bench->pd, bench->bytes, 8, 0) == NULL &&
			    ibv_post_send(bench->qp, &wr, &bad) != 0 &&
			    ibv_poll_cq(bench->cq, 1, &done) <= 0);
	expect_well(child);
	copy_half(bench, 5);
	bench_stop(bench);
}

/* The device goes on with the parent's pages, whoever writes first after the fork. */
static void registered_memory_stays_the_parents(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	int written[2];
	pid_t child;
	char byte;

	(void)state;
	copy_half(bench, 6);
	assert_int_equal(pipe(written), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		memset(bench->bytes, 7, BENCH_BYTES);
		close(written[1]);
		leave_child(read(written[0], &byte, 1) == 1 && bench->bytes[0] == 7 &&
			    bench->bytes[BENCH_BYTES - 1] == 7);
	}
	copy_half(bench, 8);
	assert_int_equal(write(written[1], "", 1), 1);
	expect_well(child);
	assert_int_equal(bench->bytes[BENCH_BYTES - 1], 8);
	close(written[0]);
	close(written[1]);
	bench_stop(bench);
}

/* As a shell's child does: it has only to go. */
static void a_child_that_executes_another_program_is_of_no_account(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		execlp("true", "true", (char *)NULL);
		leave_child(false);
	}
	expect_well(child);
	copy_half(bench, 9);
	bench_stop(bench);
}

/* The domain of XRC that a file names. */
static struct ibv_xrcd *open_domain(struct bench *bench, FILE *file, int flags)
{
	struct ibv_xrcd_init_attr wanted = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fileno(file),
		.oflags = flags,
	};

	return ibv_open_xrcd(bench->context, &wanted);
}

/* Opens a device and a domain, leaves a child of its own behind, which waits for `hold`. */
static void die_before_ones_child(FILE *file, int hold[2])
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	bool is_made = open_domain(bench, file, O_CREAT) != NULL;
	pid_t child = fork();
	char byte;

	if (child == 0) {
		close(hold[1]);
		leave_child(read(hold[0], &byte, 1) == 0);
	}
	leave_child(is_made && child > 0);
}

static bool is_gone(struct bench *bench, FILE *file)
{
	struct ibv_xrcd *domain = open_domain(bench, file, 0);

	if (domain == NULL)
		return errno == EAGAIN;
	assert_int_equal(ibv_close_xrcd(domain), 0);
	return false;
}

/* What a program had open goes with it, though a child that lives on has its descriptors. */
static void a_child_keeps_nothing_of_its_parent_alive(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	const time_t deadline = time(NULL) + 20;
	FILE *file = tmpfile();
	int hold[2];
	pid_t child;

	(void)state;
	if (getenv("RNIC_DIRECT") != NULL) {
		print_message("skipped: the device inside a program has no domain of a file\n");
		fclose(file);
		bench_stop(bench);
		skip();
	}
	assert_non_null(file);
	assert_int_equal(pipe(hold), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		die_before_ones_child(file, hold);
	expect_well(child);
	while (!is_gone(bench, file))
		assert_true(time(NULL) < deadline);
	close(hold[0]);
	close(hold[1]);
	fclose(file);
	bench_stop(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parent_and_child_have_a_device_each),
		cmocka_unit_test(a_child_cannot_use_its_parents_device),
		cmocka_unit_test(registered_memory_stays_the_parents),
		cmocka_unit_test(a_child_keeps_nothing_of_its_parent_alive),
		cmocka_unit_test(a_child_that_executes_another_program_is_of_no_account),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
