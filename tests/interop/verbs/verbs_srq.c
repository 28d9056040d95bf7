/* SPDX-License-Identifier: MIT */
/* Shared receive queues that change their size: under rnic-run, on a device with one address. */
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/unit/unit_test.h"

#include <stdbool.h>

#define DEPTH  4
#define HEADER 16 /* bytes of a message that go to the first element of its receive */

/* Posts receives with these numbers, of two elements each; the errno of the first refused. */
static int post(struct bench *bench, uint64_t first, uint64_t end)
{
	struct ibv_recv_wr *bad;
	int error = 0;

	for (uint64_t id = first; id < end && error == 0; id++) {
		struct ibv_sge sges[] = {
			{(uintptr_t)bench->bytes + 1024, HEADER, bench->mr->lkey},
			{(uintptr_t)bench->bytes + 2048 + 16 * id, 16, bench->mr->lkey},
		};
		struct ibv_recv_wr wr = {.wr_id = id, .sg_list = sges, .num_sge = 2};

		error = ibv_post_srq_recv(bench->srq, &wr, &bad);
	}
	return error;
}

static int resize(struct bench *bench, uint32_t depth)
{
	struct ibv_srq_attr wanted = {.max_wr = depth};

	return ibv_modify_srq(bench->srq, &wanted, IBV_SRQ_MAX_WR);
}

static uint32_t depth_of(struct bench *bench)
{
	struct ibv_srq_attr found;

	assert_int_equal(ibv_query_srq(bench->srq, &found), 0);
	assert_int_equal(found.max_sge, 2);
	return found.max_wr;
}

/* A message of the queue pair to itself, which the receive `id` must take. */
static void send_to(struct bench *bench, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)bench->bytes, HEADER + 16, bench->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 1000,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	struct ibv_wc done;

	memset(bench->bytes, (int)id + 1, HEADER + 16);
	assert_int_equal(ibv_post_send(bench->qp, &wr, &bad), 0);
	for (int completions = 0; completions < 2;) {
		if (ibv_poll_cq(bench->cq, 1, &done) == 0)
			continue;
		assert_int_equal(done.status, IBV_WC_SUCCESS);
		assert_int_equal(done.wr_id, done.opcode == IBV_WC_RECV ? id : 1000);
		completions++;
	}
	assert_memory_equal(bench->bytes + 2048 + 16 * id, bench->bytes, 16);
}

static void what_waits_moves_to_a_larger_queue(void **state)
{
	struct bench *bench = bench_start_shared(IBV_QPT_RC, DEPTH);

	(void)state;
	assert_int_equal(post(bench, 0, DEPTH), 0);
	assert_int_equal(post(bench, DEPTH, DEPTH + 1), ENOMEM);
	assert_int_equal(resize(bench, 20), 0);
	assert_int_equal(depth_of(bench), 20);
	assert_int_equal(post(bench, DEPTH, 20), 0);
	for (uint64_t id = 0; id < 20; id++)
		send_to(bench, id);
	bench_stop(bench);
}

static void it_shrinks_but_not_below_what_waits(void **state)
{
	struct bench *bench = bench_start_shared(IBV_QPT_RC, 32);

	(void)state;
	assert_int_equal(post(bench, 0, 6), 0);
	send_to(bench, 0); /* by now some entries wait in the device, the rest in the ring */
	assert_int_equal(resize(bench, 4), EINVAL);
	assert_int_equal(depth_of(bench), 32);
	assert_int_equal(resize(bench, 5), 0);
	assert_int_equal(depth_of(bench), 5);
	for (uint64_t id = 1; id < 6; id++)
		send_to(bench, id);
	for (uint64_t id = 6; id < 40; id++) {
		assert_int_equal(post(bench, id, id + 1), 0);
		send_to(bench, id);
	}
	bench_stop(bench);
}

static void it_changes_its_size_between_messages(void **state)
{
	static const uint32_t depths[] = {5, 64, 7, 4096, 4, 100};
	struct bench *bench = bench_start_shared(IBV_QPT_RC, DEPTH);
	uint64_t posted = 0, sent = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(depths); i++) {
		assert_int_equal(post(bench, posted, posted + 3), 0);
		posted += 3;
		send_to(bench, sent++);
		assert_int_equal(resize(bench, depths[i]), 0);
		send_to(bench, sent++);
		send_to(bench, sent++);
	}
	bench_stop(bench);
}

/* ibv_create_qp(3): max_recv_wr and max_recv_sge mean nothing to a queue pair with an SRQ. */
static void a_queue_pair_that_shares_wants_no_receives(void **state)
{
	static const uint32_t wanted[] = {0, 16, 1 << 20, UINT32_MAX};
	struct bench *bench = bench_start_shared(IBV_QPT_RC, DEPTH);

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(wanted); i++) {
		struct ibv_qp_init_attr_ex options = {
			.send_cq = bench->cq,
			.recv_cq = bench->cq,
			.srq = bench->srq,
			.cap = {.max_send_wr = 1, .max_recv_wr = wanted[i / 2]},
			.qp_type = i % 2 == 0 ? IBV_QPT_RC : IBV_QPT_XRC_SEND,
			.comp_mask = IBV_QP_INIT_ATTR_PD,
			.pd = bench->pd,
		};
		struct ibv_qp *qp;

		options.cap.max_recv_sge = wanted[i / 2];
		if (options.qp_type == IBV_QPT_XRC_SEND)
			options.srq = NULL;
		qp = ibv_create_qp_ex(bench->context, &options);
		assert_non_null(qp);
		assert_int_equal(options.cap.max_recv_wr, 0);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	bench_stop(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits_moves_to_a_larger_queue),
		cmocka_unit_test(it_shrinks_but_not_below_what_waits),
		cmocka_unit_test(it_changes_its_size_between_messages),
		cmocka_unit_test(a_queue_pair_that_shares_wants_no_receives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
