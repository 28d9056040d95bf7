/* SPDX-License-Identifier: MIT */
/*
 * Kinds of memory that no program of the distribution uses, and handles that go while work waits:
 * run under rnic-run, on a device with one address.
 */
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/unit/unit_test.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_PAGE 4096

static uint8_t bytes_of_nobody[FILE_PAGE];

static void null_region_reads_zero_and_discards(void **state)
{
	static const uint8_t zeros[100];
	struct bench *bench = bench_start(IBV_QPT_RC);
	struct ibv_mr *null = ibv_alloc_null_mr(bench->pd);
	uint64_t address = (uintptr_t)bench->bytes;
	struct ibv_sge nowhere = {.addr = 0x123456789000, .length = 100};

	(void)state;
	assert_non_null(null);
	nowhere.lkey = null->lkey;
	memset(bench->bytes, 0xff, BENCH_BYTES);
	bench_transfer(bench, IBV_WR_RDMA_WRITE, nowhere, address, bench->mr->rkey);
	assert_memory_equal(bench->bytes, zeros, 100);
	assert_int_equal(bench->bytes[100], 0xff);
	/* What is read is written to nowhere. */
	bench_transfer(bench, IBV_WR_RDMA_READ, nowhere, address, bench->mr->rkey);
	assert_int_equal(ibv_dereg_mr(null), 0);
	bench_stop(bench);
}

/*
 * A region without bytes, anywhere or nowhere: transfers of no bytes work with its keys, and one
 * byte fails on either side.
 */
static void regions_of_no_bytes_are_registered(void **state)
{
	void *const places[] = {NULL, bytes_of_nobody, bytes_of_nobody + 1};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct bench *bench = bench_start(IBV_QPT_RC);
		struct ibv_mr *mr = ibv_reg_mr(bench->pd, places[i], 0,
					       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		uint64_t address = (uintptr_t)places[i];
		struct ibv_sge nothing = {.addr = address};
		struct ibv_sge byte = {.addr = (uintptr_t)bench->bytes, .length = 1};

		assert_non_null(mr);
		assert_int_equal(mr->length, 0);
		nothing.lkey = mr->lkey;
		bench_transfer(bench, IBV_WR_RDMA_WRITE, nothing, address, mr->rkey);
		byte.lkey = bench->mr->lkey;
		bench_post(bench, IBV_WR_RDMA_WRITE, byte, address, mr->rkey);
		/* The queue pair is its own peer: its fault as responder flushes the request. */
		assert_int_equal(bench_status(bench), IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		bench_stop(bench);
	}
}

static void a_local_byte_beyond_no_bytes_fails(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	struct ibv_mr *mr = ibv_reg_mr(bench->pd, bytes_of_nobody, 0, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge byte = {.addr = (uintptr_t)bytes_of_nobody, .length = 1};

	(void)state;
	assert_non_null(mr);
	byte.lkey = mr->lkey;
	bench_post(bench, IBV_WR_RDMA_WRITE, byte, (uintptr_t)bench->bytes, bench->mr->rkey);
	assert_int_equal(bench_status(bench), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	bench_stop(bench);
}

/* A file stands for a buffer of another device: it can be mapped just as well. */
static void descriptors_that_can_be_mapped_are_registered(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	const uint64_t offset = FILE_PAGE + 8;
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_sge local = {.addr = (uintptr_t)bench->bytes, .length = 1000};
	int fd = memfd_create("buffer", MFD_CLOEXEC);
	uint8_t found[1000];
	struct ibv_mr *mr;

	(void)state;
	assert_int_equal(ftruncate(fd, 4L * FILE_PAGE), 0);
	mr = ibv_reg_dmabuf_mr(bench->pd, offset, 1000, 0x10000, fd, access);
	assert_non_null(mr);
	assert_int_equal(mr->length, 1000);
	memset(bench->bytes, 0x5a, BENCH_BYTES);
	local.lkey = bench->mr->lkey;
	bench_transfer(bench, IBV_WR_RDMA_WRITE, local, 0x10000, mr->rkey);
	assert_int_equal(pread(fd, found, sizeof(found), (off_t)offset), sizeof(found));
	assert_memory_equal(found, bench->bytes, sizeof(found));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	close(fd);
	bench_stop(bench);
}

static void descriptors_that_cannot_be_mapped_are_refused(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	int fd = memfd_create("buffer", MFD_CLOEXEC);
	int pipes[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(ftruncate(fd, FILE_PAGE), 0);
	assert_null(ibv_reg_dmabuf_mr(bench->pd, 0, FILE_PAGE, 0, -1, 0));
	assert_int_equal(errno, EBADF);
	assert_null(ibv_reg_dmabuf_mr(bench->pd, 0, FILE_PAGE, 0, pipes[0], 0));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_reg_dmabuf_mr(bench->pd, 8, FILE_PAGE, 0, fd, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_dmabuf_mr(bench->pd, 0, 0, 0, fd, 0));
	assert_int_equal(errno, EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	bench_stop(bench);
}

/* Of rdma-core 64 and later, which the program may not be linked with. */
static void buffers_of_the_library_are_registered(void **state)
{
	void *(*alloc)(struct ibv_pd *, size_t, void **);
	struct ibv_mr *(*reg)(struct ibv_pd *, void *, void *, size_t, int);
	void (*free_buffer)(void *);
	struct bench *bench = bench_start(IBV_QPT_RC);
	struct ibv_sge local = {.addr = (uintptr_t)bench->bytes, .length = 7, bench->mr->lkey};
	uint8_t *bytes;
	struct ibv_mr *mr;
	void *buffer;

	(void)state;
	*(void **)&alloc = dlsym(RTLD_DEFAULT, "ibv_alloc_buf");
	*(void **)&reg = dlsym(RTLD_DEFAULT, "ibv_reg_buf_mr");
	*(void **)&free_buffer = dlsym(RTLD_DEFAULT, "ibv_free_buf");
	assert_true(alloc != NULL && reg != NULL && free_buffer != NULL);
	bytes = alloc(bench->pd, 5000, &buffer);
	assert_non_null(bytes);
	assert_null(reg(bench->pd, buffer, bytes + 1, 5000, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EINVAL);
	mr = reg(bench->pd, buffer, bytes + 1, 4999,
		 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(mr);
	memcpy(bench->bytes, "letters", 7);
	bench_transfer(bench, IBV_WR_RDMA_WRITE, local, (uintptr_t)(bytes + 4993), mr->rkey);
	assert_memory_equal(bytes + 4993, "letters", 7);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	free_buffer(buffer);
	bench_stop(bench);
}

/* An import may go before its regions, and the exporter before the import. */
static void device_memory_outlives_its_names(void **state)
{
	struct bench *bench = bench_start(IBV_QPT_RC);
	struct ibv_context *other = ibv_import_device(dup(bench->context->cmd_fd));
	struct ibv_alloc_dm_attr wanted = {.length = BENCH_BYTES};
	struct ibv_dm *dm = ibv_alloc_dm(bench->context, &wanted), *imported;
	uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8}, found[8];
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	(void)state;
	assert_non_null(other);
	assert_non_null(dm);
	pd = ibv_alloc_pd(other);
	imported = ibv_import_dm(other, dm->handle);
	assert_non_null(imported);
	mr = ibv_reg_dm_mr(pd, imported, 0, BENCH_BYTES,
			   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	ibv_unimport_dm(imported);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	imported = ibv_import_dm(other, dm->handle);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_memcpy_to_dm(imported, 8, bytes, sizeof(bytes)), 0);
	assert_int_equal(ibv_memcpy_from_dm(found, imported, 8, sizeof(found)), 0);
	assert_memory_equal(found, bytes, sizeof(bytes));
	ibv_unimport_dm(imported);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(other), 0);
	bench_stop(bench);
}

/* What was posted with an address handle is sent, though the handle is gone by then. */
static void datagrams_outlive_their_address_handle(void **state)
{
	static struct ibv_send_wr list[BENCH_SENDS];
	struct bench *bench = bench_start(IBV_QPT_UD);
	struct ibv_ah_attr attributes = {
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = bench->gid.gid,
			.sgid_index = (uint8_t)bench->gid.gid_index,
			.hop_limit = 1},
	};
	struct ibv_ah *ah = ibv_create_ah(bench->pd, &attributes);
	struct ibv_send_wr *bad;

	(void)state;
	assert_non_null(ah);
	for (uint32_t i = 0; i < BENCH_SENDS; i++)
		list[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i + 1 < BENCH_SENDS ? &list[i + 1] : NULL,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud = {.ah = ah,
				  .remote_qpn = bench->qp->qp_num,
				  .remote_qkey = BENCH_QKEY},
		};
	assert_int_equal(ibv_post_send(bench->qp, list, &bad), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	bench_expect(bench, BENCH_SENDS);
	bench_stop(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_region_reads_zero_and_discards),
		cmocka_unit_test(regions_of_no_bytes_are_registered),
		cmocka_unit_test(a_local_byte_beyond_no_bytes_fails),
		cmocka_unit_test(descriptors_that_can_be_mapped_are_registered),
		cmocka_unit_test(descriptors_that_cannot_be_mapped_are_refused),
		cmocka_unit_test(buffers_of_the_library_are_registered),
		cmocka_unit_test(device_memory_outlives_its_names),
		cmocka_unit_test(datagrams_outlive_their_address_handle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
