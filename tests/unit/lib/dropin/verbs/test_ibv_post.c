/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/client/native/fake_session.h"

#include "lib/dropin/verbs/ibv_objects.h"
#include "proto/base/bits.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>

#define ADDRESS UINT64_C(0x123456789a)
#define RKEY	0x4321

struct bench {
	struct fake_session *fake;
	struct rnic_verbs_qp qp;
	struct ibv_context_ops ops;
};

static struct rnic_mw native_window = {.rkey = 0xabcd00};
static struct rnic_mr native_region = {.lkey = 0x77};
static struct rnic_ah native_ah = {.handle = {3, 4}};
static struct rnic_verbs_mw window = {.mw.type = IBV_MW_TYPE_2, .native = &native_window};
static struct rnic_verbs_mw window_of_type_1 = {.mw.type = IBV_MW_TYPE_1, .native = &native_window};
static struct rnic_verbs_mr region = {.native = &native_region};
static struct rnic_verbs_ah ah = {.native = &native_ah};
static struct ibv_sge elements[5] = {{1, 8, 3}, {4, 5, 6}, {7, UINT32_MAX, 9}};
static struct rnic_sge sges[3] = {{1, 8, 3}, {4, 5, 6}, {7, UINT32_MAX, 9}};

static int set_up(void **state)
{
	const struct rnic_qp_capacities capacities = {
		.max_send_wr = 64,
		.max_recv_wr = 4,
		.max_send_sge = 4,
		.max_recv_sge = 2,
		.max_inline_bytes = 100,
	};
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->fake = fake_session_create(&capacities, 8);
	bench->qp.native = &bench->fake->qp;
	rnic_verbs_fill_data_path(&bench->ops);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	fake_session_destroy(bench->fake);
	free(bench);
	return 0;
}

static const uint8_t *entry_at(const struct bench *bench, uint32_t index)
{
	return bench->fake->qp.send.entries + (size_t)index * sizeof(struct rnic_send_wqe);
}

static const uint8_t *spill_at(const struct bench *bench, uint32_t index)
{
	const struct rnic_work_queue *queue = &bench->fake->qp.send;

	return queue->spill + (size_t)index * queue->spill_stride_bytes;
}

static uint32_t published(const struct bench *bench)
{
	return rnic_word_load(bench->fake->qp.send.shared_producer);
}

/* One request in both forms, of a queue pair of `type`. */
struct request {
	enum rnic_qp_type type;
	struct ibv_send_wr theirs;
	struct rnic_send_wr ours;
};

/* With one element each. */
static const struct request with_payload[] = {
	{RNIC_QP_TYPE_RC,
	 {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE | 1 << 20},
	 {.opcode = RNIC_WR_SEND, .flags = RNIC_SEND_SIGNALED | RNIC_SEND_FENCE}},
	{RNIC_QP_TYPE_UC,
	 {.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {ADDRESS, RKEY}},
	 {.opcode = RNIC_WR_RDMA_WRITE, .remote_address = ADDRESS, .rkey = RKEY}},
	{RNIC_QP_TYPE_RC,
	 {.opcode = IBV_WR_RDMA_READ, .wr.rdma = {ADDRESS, RKEY}},
	 {.opcode = RNIC_WR_RDMA_READ, .remote_address = ADDRESS, .rkey = RKEY}},
	{RNIC_QP_TYPE_RC,
	 {.opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = 0x12345678},
	 {.opcode = RNIC_WR_SEND_WITH_INVALIDATE, .immediate = 0x12345678}},
	{RNIC_QP_TYPE_RC,
	 {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .wr.atomic = {ADDRESS, 5, 6, RKEY}},
	 {.opcode = RNIC_WR_ATOMIC_COMPARE_SWAP,
	  .remote_address = ADDRESS,
	  .rkey = RKEY,
	  .atomic = {.compare = 5, .swap_or_add = 6}}},
	{RNIC_QP_TYPE_XRC_INITIATOR,
	 {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
	  .wr.atomic = {ADDRESS, 7, 0, RKEY},
	  .qp_type.xrc.remote_srqn = 99},
	 {.opcode = RNIC_WR_ATOMIC_FETCH_ADD,
	  .remote_address = ADDRESS,
	  .rkey = RKEY,
	  .atomic = {.swap_or_add = 7},
	  .srqn = 99}},
	{RNIC_QP_TYPE_XRC_INITIATOR,
	 {.opcode = IBV_WR_SEND, .qp_type.xrc.remote_srqn = 98},
	 {.opcode = RNIC_WR_SEND, .srqn = 98}},
	{RNIC_QP_TYPE_RC,
	 {.opcode = IBV_WR_SEND, .qp_type.xrc.remote_srqn = 98},
	 {.opcode = RNIC_WR_SEND, .srqn = 98}},
	{RNIC_QP_TYPE_UD,
	 {.opcode = IBV_WR_SEND, .wr.ud = {&ah.ah, 55, 66}},
	 {.opcode = RNIC_WR_SEND, .datagram = {&native_ah, 55, 66}}},
	{RNIC_QP_TYPE_UD,
	 {.opcode = IBV_WR_SEND, .wr.ud = {NULL, 55, 66}},
	 {.opcode = RNIC_WR_SEND, .datagram = {NULL, 55, 66}}},
};

static const struct request without_payload[] = {
	{RNIC_QP_TYPE_RC,
	 {.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = 0x12345678},
	 {.opcode = RNIC_WR_LOCAL_INVALIDATE, .immediate = 0x12345678}},
	{RNIC_QP_TYPE_UC,
	 {.opcode = IBV_WR_BIND_MW,
	  .bind_mw = {&window.mw, 0x42, {&region.mr, ADDRESS, 9, IBV_ACCESS_REMOTE_READ}}},
	 {.opcode = RNIC_WR_BIND_MW,
	  .remote_address = ADDRESS,
	  .rkey = 0x42,
	  .bind = {&native_window, &native_region, 9, RNIC_ACCESS_REMOTE_READ}}},
	{RNIC_QP_TYPE_RC,
	 {.opcode = IBV_WR_BIND_MW, .bind_mw = {&window.mw, 0x43, {NULL, ADDRESS, 0, 0}}},
	 {.opcode = RNIC_WR_BIND_MW,
	  .remote_address = ADDRESS,
	  .rkey = 0x43,
	  .bind = {&native_window, NULL, 0, 0}}},
};

/* Posts the request in both forms, and compares the WQEs, their SGEs and what the calls return. */
static void check_request(struct bench *bench, const struct request *request, uint32_t sge_count)
{
	const uint32_t first = published(bench);
	struct ibv_send_wr theirs = request->theirs, *bad = NULL;
	struct rnic_send_wr ours = request->ours;
	const struct rnic_send_wr *native_bad = NULL;

	theirs.wr_id = ours.wr_id = 17;
	theirs.sg_list = elements;
	ours.sge_list = sges;
	theirs.num_sge = (int)sge_count;
	ours.sge_count = sge_count;
	bench->fake->qp.type = request->type;
	assert_int_equal(bench->ops.post_send(&bench->qp.qp, &theirs, &bad), 0);
	assert_int_equal(rnic_post_send(&bench->fake->qp, &ours, &native_bad), 0);
	assert_int_equal(published(bench), first + 2);
	assert_memory_equal(entry_at(bench, first), entry_at(bench, first + 1),
			    sizeof(struct rnic_send_wqe));
	assert_memory_equal(spill_at(bench, first), spill_at(bench, first + 1),
			    sge_count * sizeof(sges[0]));
}

static void test_both_ways_write_the_same(void **state)
{
	struct bench *bench = *state;

	for (size_t i = 0; i < RNIC_COUNT_OF(with_payload); i++)
		check_request(bench, &with_payload[i], 1);
	check_request(bench, &with_payload[0], 0);
	check_request(bench, &with_payload[0], 2);
	for (size_t i = 0; i < RNIC_COUNT_OF(without_payload); i++)
		check_request(bench, &without_payload[i], 0);
	assert_int_equal(window.mw.rkey, 0xabcd43);
}

static void test_immediate_is_in_host_order(void **state)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl(0x11223344)};
	struct bench *bench = *state;
	struct rnic_send_wqe entry;
	struct ibv_send_wr *bad;

	assert_int_equal(bench->ops.post_send(&bench->qp.qp, &wr, &bad), 0);
	memcpy(&entry, entry_at(bench, 0), sizeof(entry));
	assert_int_equal(entry.immediate, 0x11223344);
}

/* What the queue pair's type lacks takes its turn: the device completes it with LOC_QP_OP_ERR. */
static void test_requests_of_other_types(void **state)
{
	static const struct {
		enum rnic_qp_type type;
		enum ibv_wr_opcode opcode;
	} rows[] = {
		{RNIC_QP_TYPE_UD, IBV_WR_RDMA_WRITE},
		{RNIC_QP_TYPE_UD, IBV_WR_SEND_WITH_INV},
		{RNIC_QP_TYPE_UC, IBV_WR_ATOMIC_FETCH_AND_ADD},
		{RNIC_QP_TYPE_XRC_INITIATOR, IBV_WR_SEND_WITH_INV},
	};
	struct bench *bench = *state;
	struct ibv_send_wr *bad;

	for (uint32_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct ibv_send_wr wr = {
			.opcode = rows[i].opcode, .sg_list = elements, .num_sge = 1};
		struct rnic_send_wqe entry;

		bench->fake->qp.type = rows[i].type;
		assert_int_equal(bench->ops.post_send(&bench->qp.qp, &wr, &bad), 0);
		memcpy(&entry, entry_at(bench, i), sizeof(entry));
		assert_int_equal(entry.opcode, rows[i].opcode);
	}
}

/* The requests before the bad one are posted, and the daemon hears of them. */
static void test_refusals(void **state)
{
	static const struct {
		struct ibv_send_wr wr;
		int result;
	} rows[] = {
		{{.opcode = IBV_WR_SEND, .sg_list = NULL, .num_sge = 1}, EINVAL},
		{{.opcode = IBV_WR_SEND, .sg_list = elements, .num_sge = 5}, EINVAL},
		{{.opcode = IBV_WR_SEND, .sg_list = elements, .num_sge = -1}, EINVAL},
		{{.opcode = IBV_WR_SEND, .sg_list = elements, .num_sge = INT32_MIN}, EINVAL},
		{{.opcode = IBV_WR_SEND, .sg_list = elements, .num_sge = 3}, EINVAL},
		{{.opcode = IBV_WR_SEND,
		  .sg_list = elements + 2,
		  .num_sge = 1,
		  .send_flags = IBV_SEND_INLINE},
		 EINVAL},
		{{.opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_INLINE}, EINVAL},
		{{.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM}, EINVAL},
		{{.opcode = IBV_WR_LOCAL_INV, .sg_list = elements, .num_sge = 1}, EINVAL},
		{{.opcode = IBV_WR_ATOMIC_WRITE}, EINVAL},
		{{.opcode = IBV_WR_BIND_MW}, EINVAL},
		{{.opcode = IBV_WR_BIND_MW, .bind_mw.mw = &window_of_type_1.mw}, EINVAL},
		{{.opcode = IBV_WR_BIND_MW, .bind_mw = {&window.mw, 1, {NULL, 0, 1, 0}}}, EINVAL},
		{{.opcode = (enum ibv_wr_opcode)RNIC_WR_FLUSH}, EOPNOTSUPP},
		{{.opcode = IBV_WR_TSO}, EOPNOTSUPP},
		{{.opcode = (enum ibv_wr_opcode)0x100}, EOPNOTSUPP},
		{{.opcode = (enum ibv_wr_opcode) - 1}, EOPNOTSUPP},
	};
	struct bench *bench = *state;

	for (uint32_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct ibv_send_wr second = rows[i].wr, *bad = NULL;
		struct ibv_send_wr first = {.opcode = IBV_WR_SEND, .next = &second};
		const uint32_t key = window.mw.rkey;

		assert_int_equal(bench->ops.post_send(&bench->qp.qp, &first, &bad), rows[i].result);
		assert_ptr_equal(bad, &second);
		assert_int_equal(published(bench), i + 1);
		assert_int_equal(window.mw.rkey, key);
	}
}

static void test_full(void **state)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad = NULL;
	struct bench *bench = *state;

	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(bench->ops.post_send(&bench->qp.qp, &wr, &bad), 0);
	assert_int_equal(bench->ops.post_send(&bench->qp.qp, &wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr);
	atomic_store(&bench->fake->qp.state, RNIC_QP_STATE_RTR);
	assert_int_equal(bench->ops.post_send(&bench->qp.qp, &wr, &bad), EINVAL);
}

static void test_receives(void **state)
{
	static const struct {
		struct ibv_recv_wr wr;
		int result;
	} rows[] = {
		{{.wr_id = 1, .sg_list = elements, .num_sge = 1}, 0},
		{{.wr_id = 2, .sg_list = elements, .num_sge = 2}, 0},
		{{.wr_id = 3}, 0},
		{{.sg_list = elements, .num_sge = 3}, EINVAL},
		{{.sg_list = elements, .num_sge = -1}, EINVAL},
		{{.sg_list = NULL, .num_sge = 1}, EINVAL},
	};
	struct bench *bench = *state;
	const struct rnic_work_queue *queue = &bench->fake->qp.recv;
	struct rnic_recv_wqe entries[3];

	for (uint32_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct ibv_recv_wr wr = rows[i].wr, *bad = NULL;

		assert_int_equal(bench->ops.post_recv(&bench->qp.qp, &wr, &bad), rows[i].result);
		assert_ptr_equal(bad, rows[i].result == 0 ? NULL : &wr);
	}
	assert_int_equal(rnic_word_load(queue->shared_producer), 3);
	memcpy(entries, queue->entries, sizeof(entries));
	assert_memory_equal(&entries[0].sge, elements, sizeof(elements[0]));
	assert_int_equal(entries[1].wr_id, 2);
	assert_int_equal(entries[1].sge.length, RNIC_RECV_SGES_BESIDE + 2);
	assert_memory_equal(queue->spill + queue->spill_stride_bytes, elements,
			    2 * sizeof(elements[0]));
	assert_int_equal(entries[2].sge.length, RNIC_RECV_SGES_BESIDE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_both_ways_write_the_same, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_immediate_is_in_host_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_requests_of_other_types, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_receives, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
