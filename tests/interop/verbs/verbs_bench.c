/* SPDX-License-Identifier: MIT */
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/unit/unit_test.h"

static void make_qp(struct bench *bench, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr wanted = {
		.send_cq = bench->cq,
		.recv_cq = bench->cq,
		.srq = bench->srq,
		.cap = {.max_send_wr = BENCH_SENDS,
			.max_recv_wr = 16,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = type,
	};
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = BENCH_QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	int receive = IBV_QP_STATE, send = IBV_QP_STATE | IBV_QP_SQ_PSN;

	bench->qp = ibv_create_qp(bench->pd, &wanted);
	assert_non_null(bench->qp);
	init |= type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	assert_int_equal(ibv_modify_qp(bench->qp, &attributes, init), 0);
	attributes.qp_state = IBV_QPS_RTR;
	attributes.path_mtu = IBV_MTU_1024;
	attributes.dest_qp_num = bench->qp->qp_num;
	attributes.max_dest_rd_atomic = 1;
	attributes.ah_attr = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = bench->gid.gid,
			.sgid_index = (uint8_t)bench->gid.gid_index,
			.hop_limit = 1},
	};
	if (type == IBV_QPT_RC) {
		receive |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		send |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	}
	assert_int_equal(ibv_modify_qp(bench->qp, &attributes, receive), 0);
	attributes.qp_state = IBV_QPS_RTS;
	attributes.timeout = 14;
	attributes.retry_cnt = 7;
	attributes.max_rd_atomic = 1;
	assert_int_equal(ibv_modify_qp(bench->qp, &attributes, send), 0);
}

struct bench *bench_start(enum ibv_qp_type type)
{
	return bench_start_shared(type, 0);
}

/* What stands on the context and the domain that `bench` has. */
static void build(struct bench *bench, enum ibv_qp_type type, uint32_t depth)
{
	struct ibv_srq_init_attr shared = {.attr = {.max_wr = depth, .max_sge = 2}};

	assert_int_equal(ibv_query_gid_ex(bench->context, 1, 0, &bench->gid, 0), 0);
	bench->cq = ibv_create_cq(bench->context, 2 * BENCH_SENDS, NULL, NULL, 0);
	assert_non_null(bench->cq);
	bench->mr = ibv_reg_mr(bench->pd, bench->bytes, BENCH_BYTES,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ);
	assert_non_null(bench->mr);
	if (depth > 0) {
		bench->srq = ibv_create_srq(bench->pd, &shared);
		assert_non_null(bench->srq);
	}
	make_qp(bench, type);
}

struct bench *bench_start_shared(enum ibv_qp_type type, uint32_t depth)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct ibv_device **devices = ibv_get_device_list(NULL);

	assert_non_null(bench);
	assert_non_null(devices);
	assert_non_null(devices[0]);
	bench->context = ibv_open_device(devices[0]);
	ibv_free_device_list(devices);
	assert_non_null(bench->context);
	bench->pd = ibv_alloc_pd(bench->context);
	build(bench, type, depth);
	return bench;
}

struct bench *bench_start_in(struct ibv_pd *pd)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->context = pd->context;
	bench->pd = pd;
	build(bench, IBV_QPT_RC, 0);
	return bench;
}

void bench_stop(struct bench *bench)
{
	assert_int_equal(ibv_destroy_qp(bench->qp), 0);
	if (bench->srq != NULL)
		assert_int_equal(ibv_destroy_srq(bench->srq), 0);
	assert_int_equal(ibv_destroy_cq(bench->cq), 0);
	assert_int_equal(ibv_dereg_mr(bench->mr), 0);
	assert_int_equal(ibv_dealloc_pd(bench->pd), 0);
	assert_int_equal(ibv_close_device(bench->context), 0);
	free(bench);
}

void bench_expect(struct bench *bench, uint32_t count)
{
	struct ibv_wc wc;
	int polled;

	while (count > 0) {
		polled = ibv_poll_cq(bench->cq, 1, &wc);
		assert_true(polled >= 0);
		if (polled == 0)
			continue;
		if (wc.status != IBV_WC_SUCCESS)
			fail_msg("work request %d: %s", (int)wc.wr_id,
				 ibv_wc_status_str(wc.status));
		count--;
	}
}

enum ibv_wc_status bench_status(struct bench *bench)
{
	struct ibv_wc wc;
	int polled;

	do {
		polled = ibv_poll_cq(bench->cq, 1, &wc);
		assert_true(polled >= 0);
	} while (polled == 0);
	return wc.status;
}

void bench_post(struct bench *bench, enum ibv_wr_opcode opcode, struct ibv_sge local,
		uint64_t remote, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.sg_list = &local,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = remote, .rkey = rkey},
	};
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(bench->qp, &wr, &bad), 0);
}

void bench_transfer(struct bench *bench, enum ibv_wr_opcode opcode, struct ibv_sge local,
		    uint64_t remote, uint32_t rkey)
{
	bench_post(bench, opcode, local, remote, rkey);
	bench_expect(bench, 1);
}
