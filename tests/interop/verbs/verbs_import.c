/* SPDX-License-Identifier: MIT */
/*
 * Imports from another process, the exporter, which is this program again and does what it is told:
 * run under rnic-run, on a device with one address.
 */
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILLED 0x5a

/* What the exporter tells of its objects, along with its cmd_fd. */
struct offer {
	uint32_t pd;
	uint32_t mr;
	uint32_t unused_pd;
	uint64_t address; /* of the region, which is FILLED */
};

enum order { ORDER_SHOW_BYTES, ORDER_DEALLOC_UNUSED, ORDER_DEREGISTER, ORDER_LEAVE };

/* ---- the exporter ---- */

static void send_offer(int fd, const struct offer *offer, int cmd_fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec vector = {(void *)offer, sizeof(*offer)};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};

	control.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	};
	memcpy(CMSG_DATA(&control.header), &cmd_fd, sizeof(int));
	assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), sizeof(*offer));
}

/* Carries out one order; false when that was to leave. */
static bool obey(struct bench *bench, struct ibv_pd *unused, int fd)
{
	int result = 0;
	char order;

	assert_int_equal(recv(fd, &order, 1, 0), 1);
	switch (order) {
	case ORDER_SHOW_BYTES:
		assert_int_equal(send(fd, bench->bytes, BENCH_BYTES, 0), BENCH_BYTES);
		return true;
	case ORDER_DEALLOC_UNUSED:
		result = ibv_dealloc_pd(unused);
		break;
	case ORDER_DEREGISTER:
		result = ibv_dereg_mr(bench->mr);
		bench->mr = ibv_alloc_null_mr(bench->pd);
		break;
	default:
		break;
	}
	assert_int_equal(send(fd, &result, sizeof(result), 0), sizeof(result));
	return order != ORDER_LEAVE;
}

static int exporter_main(int fd)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	struct ibv_pd *unused = ibv_alloc_pd(bench->context);
	const struct offer offer = {
		.pd = bench->pd->handle,
		.mr = bench->mr->handle,
		.unused_pd = unused->handle,
		.address = (uintptr_t)bench->bytes,
	};

	memset(bench->bytes, FILLED, BENCH_BYTES);
	send_offer(fd, &offer, bench->context->cmd_fd);
	while (obey(bench, unused, fd))
		;
	bench_stop(bench);
	return 0;
}

/* ---- the importer ---- */

struct exporter {
	pid_t pid;
	int fd;
	int cmd_fd;
	struct offer offer;
};

static void receive_offer(struct exporter *exporter)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec vector = {&exporter->offer, sizeof(exporter->offer)};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};

	assert_int_equal(recvmsg(exporter->fd, &message, MSG_CMSG_CLOEXEC),
			 sizeof(exporter->offer));
	assert_int_equal(message.msg_controllen, sizeof(control.bytes));
	memcpy(&exporter->cmd_fd, CMSG_DATA(&control.header), sizeof(int));
}

static struct exporter exporter_start(void)
{
	struct exporter exporter;
	char number[16];
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	exporter.pid = fork();
	assert_true(exporter.pid >= 0);
	if (exporter.pid == 0) {
		snprintf(number, sizeof(number), "%d", dup(ends[1]));
		execl("/proc/self/exe", "exporter", number, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	exporter.fd = ends[0];
	receive_offer(&exporter);
	return exporter;
}

static int exporter_order(const struct exporter *exporter, enum order order)
{
	const char byte = (char)order;
	int result;

	assert_int_equal(send(exporter->fd, &byte, 1, 0), 1);
	assert_int_equal(recv(exporter->fd, &result, sizeof(result), 0), sizeof(result));
	return result;
}

static void exporter_show_bytes(const struct exporter *exporter, uint8_t bytes[BENCH_BYTES])
{
	const char byte = ORDER_SHOW_BYTES;

	assert_int_equal(send(exporter->fd, &byte, 1, 0), 1);
	assert_int_equal(recv(exporter->fd, bytes, BENCH_BYTES, 0), BENCH_BYTES);
}

static void exporter_kill(const struct exporter *exporter)
{
	int status;

	assert_int_equal(kill(exporter->pid, SIGKILL), 0);
	assert_int_equal(waitpid(exporter->pid, &status, 0), exporter->pid);
	close(exporter->fd);
}

static void exporter_leave(const struct exporter *exporter)
{
	int status;

	exporter_order(exporter, ORDER_LEAVE);
	assert_int_equal(waitpid(exporter->pid, &status, 0), exporter->pid);
	assert_int_equal(status, 0);
	close(exporter->fd);
}

/* A bench in the exporter's domain, whose context owns cmd_fd. */
static struct bench *import_bench(const struct exporter *exporter)
{
	struct ibv_context *context = ibv_import_device(exporter->cmd_fd);
	struct ibv_pd *pd;

	assert_non_null(context);
	pd = ibv_import_pd(context, exporter->offer.pd);
	assert_non_null(pd);
	return bench_start_in(pd);
}

/* The daemon need not hear of a death before the next request of somebody else. */
static void expect_exporter_gone(const struct bench *bench, const struct exporter *exporter)
{
	struct ibv_pd *pd;

	while ((pd = ibv_import_pd(bench->context, exporter->offer.pd)) != NULL)
		ibv_unimport_pd(pd);
	assert_int_equal(errno, ENODEV);
}

static struct ibv_sge own_bytes(const struct bench *bench)
{
	return (struct ibv_sge){(uintptr_t)bench->bytes, BENCH_BYTES, bench->mr->lkey};
}

/* ---- tests ---- */

static void regions_of_the_exporter_serve_both_ways(void **state)
{
	const struct exporter exporter = exporter_start();
	struct bench *bench = import_bench(&exporter);
	struct ibv_mr *mr = ibv_import_mr(bench->pd, exporter.offer.mr);
	struct ibv_sge theirs = {.addr = exporter.offer.address, .length = BENCH_BYTES};
	uint8_t found[BENCH_BYTES], filled[BENCH_BYTES];

	(void)state;
	assert_non_null(mr);
	assert_null(mr->addr);
	assert_int_equal(mr->length, BENCH_BYTES);
	theirs.lkey = mr->lkey;
	memset(filled, FILLED, sizeof(filled));
	bench_transfer(bench, IBV_WR_RDMA_WRITE, theirs, (uintptr_t)bench->bytes, bench->mr->rkey);
	assert_memory_equal(bench->bytes, filled, BENCH_BYTES);
	memset(bench->bytes, 1, BENCH_BYTES);
	bench_transfer(bench, IBV_WR_RDMA_WRITE, own_bytes(bench), theirs.addr, mr->rkey);
	exporter_show_bytes(&exporter, found);
	assert_memory_equal(found, bench->bytes, BENCH_BYTES);
	ibv_unimport_mr(mr);
	bench_stop(bench);
	exporter_leave(&exporter);
}

static void queue_pairs_survive_the_exporter_and_its_regions_do_not(void **state)
{
	const struct exporter exporter = exporter_start();
	struct bench *bench = import_bench(&exporter);
	struct ibv_mr *mr = ibv_import_mr(bench->pd, exporter.offer.mr);

	(void)state;
	assert_non_null(mr);
	exporter_kill(&exporter);
	expect_exporter_gone(bench, &exporter);
	bench_transfer(bench, IBV_WR_RDMA_READ, own_bytes(bench), (uintptr_t)bench->bytes,
		       bench->mr->rkey);
	bench_post(bench, IBV_WR_RDMA_WRITE, own_bytes(bench), exporter.offer.address, mr->rkey);
	assert_int_not_equal(bench_status(bench), IBV_WC_SUCCESS);
	ibv_unimport_mr(mr);
	bench_stop(bench);
}

/* Every request completes, those that came too late as errors. */
static void an_exporter_is_killed_under_way(void **state)
{
	const struct exporter exporter = exporter_start();
	struct bench *bench = import_bench(&exporter);
	struct ibv_mr *mr = ibv_import_mr(bench->pd, exporter.offer.mr);
	const struct ibv_sge own = own_bytes(bench);

	(void)state;
	assert_non_null(mr);
	for (uint32_t i = 0; i < BENCH_SENDS; i++)
		bench_post(bench, IBV_WR_RDMA_WRITE, own, exporter.offer.address, mr->rkey);
	exporter_kill(&exporter);
	for (uint32_t i = 0; i < BENCH_SENDS; i++)
		bench_status(bench);
	expect_exporter_gone(bench, &exporter);
	ibv_unimport_mr(mr);
	bench_stop(bench);
}

static void a_key_goes_with_its_region(void **state)
{
	const struct exporter exporter = exporter_start();
	struct bench *bench = import_bench(&exporter);
	struct ibv_mr *mr = ibv_import_mr(bench->pd, exporter.offer.mr);
	struct ibv_sge theirs = {exporter.offer.address, BENCH_BYTES, 0};

	(void)state;
	assert_non_null(mr);
	theirs.lkey = mr->lkey;
	assert_int_equal(exporter_order(&exporter, ORDER_DEREGISTER), 0);
	bench_post(bench, IBV_WR_RDMA_WRITE, theirs, (uintptr_t)bench->bytes, bench->mr->rkey);
	assert_int_equal(bench_status(bench), IBV_WC_LOC_PROT_ERR);
	ibv_unimport_mr(mr);
	bench_stop(bench);
	exporter_leave(&exporter);
}

static void a_domain_goes_with_its_last_holder(void **state)
{
	const struct exporter exporter = exporter_start();
	struct ibv_context *context = ibv_import_device(exporter.cmd_fd);
	struct ibv_pd *pd, *again;
	uint8_t bytes[64];
	struct ibv_mr *mr;

	(void)state;
	assert_non_null(context);
	pd = ibv_import_pd(context, exporter.offer.unused_pd);
	again = ibv_import_pd(context, exporter.offer.unused_pd);
	assert_non_null(pd);
	assert_non_null(again);
	mr = ibv_reg_mr(pd, bytes, sizeof(bytes), 0);
	assert_non_null(mr);
	ibv_unimport_pd(again);
	/* Ours are no objects of the exporter, but they are ours. */
	assert_int_equal(exporter_order(&exporter, ORDER_DEALLOC_UNUSED), 0);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_null(ibv_import_pd(context, exporter.offer.unused_pd));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	ibv_unimport_pd(pd);
	assert_int_equal(ibv_close_device(context), 0);
	exporter_leave(&exporter);
}

static void refuse_device(int fd, int error)
{
	assert_null(ibv_import_device(fd));
	assert_int_equal(errno, error);
	close(fd);
}

static void what_is_not_there_is_refused(void **state)
{
	const struct exporter exporter = exporter_start();
	const uint32_t nothing = 0x7fffffff;
	char path[32];
	struct bench *bench;
	struct ibv_pd *other;
	struct ibv_mr *mr;

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", exporter.cmd_fd);
	refuse_device(memfd_create("stranger", MFD_CLOEXEC), EOPNOTSUPP);
	refuse_device(open(path, O_PATH | O_CLOEXEC), EOPNOTSUPP);
	bench = import_bench(&exporter);
	assert_null(ibv_import_pd(bench->context, nothing));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_import_mr(bench->pd, nothing));
	assert_int_equal(errno, EINVAL);
	/* A region is imported into its own domain only. */
	other = ibv_import_pd(bench->context, exporter.offer.unused_pd);
	assert_non_null(other);
	assert_null(ibv_import_mr(other, exporter.offer.mr));
	assert_int_equal(errno, EINVAL);
	ibv_unimport_pd(other);
	assert_null(ibv_import_dm(bench->context, 1));
	assert_int_equal(errno, EOPNOTSUPP);
	mr = ibv_import_mr(bench->pd, exporter.offer.mr);
	assert_int_equal(ibv_dereg_mr(mr), EINVAL);
	ibv_unimport_mr(mr);
	bench_stop(bench);
	exporter_leave(&exporter);
}

/* A child that only forked has its parent's memory, but no session until it imports one. */
static void a_child_imports_from_its_parent(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	const pid_t child = fork();
	struct ibv_context *context;
	struct ibv_pd *pd;
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		context = ibv_import_device(dup(bench->context->cmd_fd));
		pd = context == NULL ? NULL : ibv_import_pd(context, bench->pd->handle);
		_exit(pd != NULL && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0 ? 0
											      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	bench_stop(bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_of_the_exporter_serve_both_ways),
		cmocka_unit_test(queue_pairs_survive_the_exporter_and_its_regions_do_not),
		cmocka_unit_test(an_exporter_is_killed_under_way),
		cmocka_unit_test(a_key_goes_with_its_region),
		cmocka_unit_test(a_domain_goes_with_its_last_holder),
		cmocka_unit_test(what_is_not_there_is_refused),
		cmocka_unit_test(a_child_imports_from_its_parent),
	};

	if (argc == 2)
		return exporter_main(atoi(argv[1]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
