/* SPDX-License-Identifier: MIT */
/*
 * How wrong requests end, at both ends of a connection, and how keys are invalidated.
 */
#include "tests/interop/verbs/verbs_pair.h"
#include "tests/unit/unit_test.h"

#define UNKNOWN_KEY 0x5500

/* `bytes` of end 0's half of the memory to or from end 1's; the caller changes what it will. */
static struct ibv_send_wr request(struct pair *pair, struct ibv_sge *sge, uint64_t wr_id,
				  enum ibv_wr_opcode opcode, uint32_t bytes)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};

	*sge = (struct ibv_sge){(uintptr_t)pair->bytes, bytes, pair->mr->lkey};
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)pair->bytes + PAIR_BYTES / 2;
		wr.wr.atomic.rkey = pair->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (pair->ends[0].qp->qp_type == IBV_QPT_UD && opcode == IBV_WR_SEND) {
		wr.wr.ud.ah = pair->ah;
		wr.wr.ud.remote_qpn = pair->ends[1].qp->qp_num;
		wr.wr.ud.remote_qkey = PAIR_QKEY;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)pair->bytes + PAIR_BYTES / 2;
		wr.wr.rdma.rkey = pair->mr->rkey;
	}
	return wr;
}

static void post(struct pair *pair, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(pair->ends[0].qp, &wr, &bad), 0);
}

static void post_receive(struct pair *pair, uint32_t end, uint64_t wr_id)
{
	struct ibv_sge sge = {(uintptr_t)pair->bytes + 1024, 1024, pair->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_recv(pair->ends[end].qp, &wr, &bad), 0);
}

/* --- statuses -------------------------------------------------------------------------------- */

static void a_refused_immediate_ends_its_receive(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(pair, &sge, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 8);

	(void)state;
	post_receive(pair, 1, 11);
	post_receive(pair, 1, 12);
	wr.wr.rdma.rkey += UNKNOWN_KEY;
	post(pair, wr);
	pair_expect(pair, 0, 1, IBV_WC_REM_ACCESS_ERR);
	pair_expect(pair, 1, 11, IBV_WC_LOC_ACCESS_ERR);
	pair_expect(pair, 1, 12, IBV_WC_WR_FLUSH_ERR);
	pair_stop(pair);
}

static void a_refused_invalidation_is_no_success(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(pair, &sge, 2, IBV_WR_SEND_WITH_INV, 8);

	(void)state;
	post_receive(pair, 1, 11);
	post(pair, request(pair, &sge, 1, IBV_WR_RDMA_WRITE, 8));
	wr.invalidate_rkey = pair->mr->rkey;
	post(pair, wr);
	pair_expect(pair, 0, 1, IBV_WC_SUCCESS);
	pair_expect(pair, 1, 11, IBV_WC_REM_INV_REQ_ERR);
	pair_expect(pair, 0, 2, IBV_WC_RETRY_EXC_ERR);
	pair_stop(pair);
}

static void an_atomic_has_eight_bytes(void **state)
{
	static const uint32_t lengths[] = {0, 7, 9};
	struct ibv_sge sge;

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct pair *pair = pair_start(IBV_QPT_RC);

		post(pair, request(pair, &sge, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, lengths[i]));
		pair_expect(pair, 0, 1, IBV_WC_LOC_LEN_ERR);
		assert_int_equal(pair->bytes[PAIR_BYTES / 2], 0);
		pair_stop(pair);
	}
}

/* The message before it needs a receive, which comes late: the wrong request waits all the while.
 */
static void a_wrong_lkey_fails_in_its_turn(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						     IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct ibv_sge sge;

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		struct pair *pair = pair_start(IBV_QPT_RC);
		struct ibv_send_wr wr;

		post(pair, request(pair, &sge, 1, IBV_WR_SEND, 1024));
		wr = request(pair, &sge, 2, opcodes[i], 8);
		sge.lkey += UNKNOWN_KEY;
		post(pair, wr);
		post(pair, request(pair, &sge, 3, IBV_WR_SEND, 8));
		post_receive(pair, 1, 11);
		pair_expect(pair, 0, 1, IBV_WC_SUCCESS);
		pair_expect(pair, 0, 2, IBV_WC_LOC_PROT_ERR);
		pair_expect(pair, 0, 3, IBV_WC_WR_FLUSH_ERR);
		pair_expect(pair, 1, 11, IBV_WC_SUCCESS);
		pair_stop(pair);
	}
}

static void a_wrong_lkey_fails_in_its_turn_without_acknowledgements(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_UC, IBV_QPT_UD};
	struct ibv_sge sge;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct pair *pair = pair_start(types[i]);
		struct ibv_send_wr wr;

		post(pair, request(pair, &sge, 1, IBV_WR_SEND, 1024));
		wr = request(pair, &sge, 2, IBV_WR_SEND, 8);
		sge.lkey += UNKNOWN_KEY;
		post(pair, wr);
		post(pair, request(pair, &sge, 3, IBV_WR_SEND, 8));
		pair_expect(pair, 0, 1, IBV_WC_SUCCESS);
		pair_expect(pair, 0, 2, IBV_WC_LOC_PROT_ERR);
		pair_expect(pair, 0, 3, IBV_WC_WR_FLUSH_ERR);
		pair_stop(pair);
	}
}

/* mlx5 posts them too, and its device refuses them. */
static void requests_of_other_types_fail_in_their_turn(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_wr_opcode opcode;
	} cases[] = {
		{IBV_QPT_UD, IBV_WR_RDMA_WRITE}, {IBV_QPT_UD, IBV_WR_RDMA_WRITE_WITH_IMM},
		{IBV_QPT_UD, IBV_WR_RDMA_READ},	 {IBV_QPT_UD, IBV_WR_ATOMIC_FETCH_AND_ADD},
		{IBV_QPT_UC, IBV_WR_RDMA_READ},	 {IBV_QPT_UC, IBV_WR_ATOMIC_FETCH_AND_ADD},
	};
	struct ibv_sge sge;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair *pair = pair_start(cases[i].type);

		post(pair, request(pair, &sge, 1, IBV_WR_SEND, 8));
		post(pair, request(pair, &sge, 2, cases[i].opcode, 8));
		post(pair, request(pair, &sge, 3, IBV_WR_SEND, 8));
		pair_expect(pair, 0, 1, IBV_WC_SUCCESS);
		pair_expect(pair, 0, 2, IBV_WC_LOC_QP_OP_ERR);
		pair_expect(pair, 0, 3, IBV_WC_WR_FLUSH_ERR);
		pair_stop(pair);
	}
}

/* --- memory management extensions ------------------------------------------------------------ */

/* End 1 opens the window on the second half of the memory; its new key. */
static uint32_t bind(struct pair *pair, struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_send_wr *bad,
		wr = {
			.wr_id = 20,
			.opcode = IBV_WR_BIND_MW,
			.send_flags = IBV_SEND_SIGNALED,
			.bind_mw = {.mw = mw,
				    .rkey = rkey,
				    .bind_info = {.mr = pair->mr,
						  .addr = (uintptr_t)pair->bytes + PAIR_BYTES / 2,
						  .length = PAIR_BYTES / 2,
						  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}},
		};

	assert_int_equal(ibv_post_send(pair->ends[1].qp, &wr, &bad), 0);
	pair_expect(pair, 1, 20, IBV_WC_SUCCESS);
	return rkey;
}

static void invalidate_locally(struct pair *pair, uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_send_wr *bad, wr = {
					 .wr_id = 30,
					 .opcode = IBV_WR_LOCAL_INV,
					 .send_flags = IBV_SEND_SIGNALED,
					 .invalidate_rkey = rkey,
				 };

	assert_int_equal(ibv_post_send(pair->ends[1].qp, &wr, &bad), 0);
	pair_expect(pair, 1, 30, status);
}

static void write_by(struct pair *pair, uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(pair, &sge, 1, IBV_WR_RDMA_WRITE, 8);

	wr.wr.rdma.rkey = rkey;
	post(pair, wr);
	pair_expect(pair, 0, 1, status);
}

static void the_device_has_memory_management_extensions(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_device_attr attributes;

	(void)state;
	assert_int_equal(ibv_query_device(pair->context, &attributes), 0);
	assert_true((attributes.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0);
	pair_stop(pair);
}

static void either_end_invalidates_a_window(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);
	struct ibv_mw *mw = ibv_alloc_mw(pair->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	uint32_t rkey;

	(void)state;
	assert_non_null(mw);
	rkey = bind(pair, mw, ibv_inc_rkey(mw->rkey));
	write_by(pair, rkey, IBV_WC_SUCCESS);
	post_receive(pair, 1, 11);
	wr = request(pair, &sge, 2, IBV_WR_SEND_WITH_INV, 8);
	wr.invalidate_rkey = rkey;
	post(pair, wr);
	pair_expect(pair, 0, 2, IBV_WC_SUCCESS);
	wc = pair_wait(pair, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_true((wc.wc_flags & IBV_WC_WITH_INV) != 0);
	assert_int_equal(wc.invalidated_rkey, rkey);
	rkey = bind(pair, mw, ibv_inc_rkey(rkey));
	write_by(pair, rkey, IBV_WC_SUCCESS);
	invalidate_locally(pair, rkey, IBV_WC_SUCCESS);
	write_by(pair, rkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	pair_stop(pair);
}

/* A region that ibv_reg_mr() made lives until ibv_dereg_mr(). */
static void a_region_cannot_be_invalidated(void **state)
{
	struct pair *pair = pair_start(IBV_QPT_RC);

	(void)state;
	invalidate_locally(pair, pair->mr->rkey, IBV_WC_MW_BIND_ERR);
	pair_stop(pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_immediate_ends_its_receive),
		cmocka_unit_test(a_refused_invalidation_is_no_success),
		cmocka_unit_test(an_atomic_has_eight_bytes),
		cmocka_unit_test(a_wrong_lkey_fails_in_its_turn),
		cmocka_unit_test(a_wrong_lkey_fails_in_its_turn_without_acknowledgements),
		cmocka_unit_test(requests_of_other_types_fail_in_their_turn),
		cmocka_unit_test(the_device_has_memory_management_extensions),
		cmocka_unit_test(either_end_invalidates_a_window),
		cmocka_unit_test(a_region_cannot_be_invalidated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
