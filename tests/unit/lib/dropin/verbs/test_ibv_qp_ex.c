/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/client/native/fake_session.h"

#include "lib/dropin/verbs/ibv_objects.h"
#include "proto/base/bits.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>

#define INLINE_BYTES 64
#define DEPTH	     4
#define RKEY	     0x4321
#define ADDRESS	     UINT64_C(0x123456789a)

struct bench {
	struct fake_session *fake;
	struct rnic_verbs_qp qp;
	struct ibv_qp_ex *ex;
};

static const struct rnic_mw native_window = {.rkey = RKEY & ~0xff};
static const struct rnic_mr native_region = {.lkey = 0x77};

static int set_up(void **state)
{
	const struct rnic_qp_capacities capacities = {
		.max_send_wr = DEPTH,
		.max_recv_wr = 1,
		.max_send_sge = 3,
		.max_recv_sge = 1,
		.max_inline_bytes = INLINE_BYTES,
	};
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->fake = fake_session_create(&capacities, 8);
	bench->qp.native = &bench->fake->qp;
	bench->qp.qp.qp_type = IBV_QPT_RC;
	pthread_mutex_init(&bench->qp.qp.mutex, NULL);
	bench->ex = &bench->qp.qp_ex;
	assert_int_equal(rnic_verbs_add_send_batch(&bench->qp,
						   rnic_verbs_served_send_operations(IBV_QPT_RC),
						   INLINE_BYTES),
			 0);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	pthread_mutex_destroy(&bench->qp.qp.mutex);
	free(bench->qp.batch);
	fake_session_destroy(bench->fake);
	free(bench);
	return 0;
}

static struct rnic_send_wqe entry_at(const struct bench *bench, uint32_t index)
{
	const struct rnic_work_queue *queue = &bench->fake->qp.send;
	struct rnic_send_wqe entry;

	memcpy(&entry, queue->entries + (index & queue->mask) * sizeof(entry), sizeof(entry));
	return entry;
}

static const uint8_t *side_at(const struct bench *bench, uint32_t index)
{
	const struct rnic_work_queue *queue = &bench->fake->qp.send;

	return queue->spill + (index & queue->mask) * queue->spill_stride_bytes;
}

static uint32_t published(const struct bench *bench)
{
	return rnic_word_load(bench->fake->qp.send.shared_producer);
}

static void plain_send(struct ibv_qp_ex *qp)
{
	ibv_wr_send(qp);
}

static void send_imm(struct ibv_qp_ex *qp)
{
	ibv_wr_send_imm(qp, htonl(0x11223344));
}

static void rdma_read(struct ibv_qp_ex *qp)
{
	ibv_wr_rdma_read(qp, RKEY, ADDRESS);
}

static void rdma_write(struct ibv_qp_ex *qp)
{
	ibv_wr_rdma_write(qp, RKEY, ADDRESS);
}

static void rdma_write_imm(struct ibv_qp_ex *qp)
{
	ibv_wr_rdma_write_imm(qp, RKEY, ADDRESS, htonl(0x11223344));
}

static void compare_swap(struct ibv_qp_ex *qp)
{
	ibv_wr_atomic_cmp_swp(qp, RKEY, ADDRESS, 5, 6);
}

static void fetch_add(struct ibv_qp_ex *qp)
{
	ibv_wr_atomic_fetch_add(qp, RKEY, ADDRESS, 7);
}

static void send_inv(struct ibv_qp_ex *qp)
{
	ibv_wr_send_inv(qp, RKEY);
}

static void test_operations(void **state)
{
	static const struct {
		void (*call)(struct ibv_qp_ex *qp);
		uint8_t opcode;
		bool is_remote;
		uint32_t immediate;
		uint64_t compare;
		uint64_t swap_or_add;
	} rows[] = {
		{plain_send, RNIC_WR_SEND, false, 0, 0, 0},
		{send_imm, RNIC_WR_SEND_WITH_IMM, false, 0x11223344, 0, 0},
		{send_inv, RNIC_WR_SEND_WITH_INVALIDATE, false, RKEY, 0, 0},
		{rdma_read, RNIC_WR_RDMA_READ, true, 0, 0, 0},
		{rdma_write, RNIC_WR_RDMA_WRITE, true, 0, 0, 0},
		{rdma_write_imm, RNIC_WR_RDMA_WRITE_WITH_IMM, true, 0x11223344, 0, 0},
		{compare_swap, RNIC_WR_ATOMIC_COMPARE_SWAP, true, 0, 5, 6},
		{fetch_add, RNIC_WR_ATOMIC_FETCH_ADD, true, 0, 0, 7},
	};
	struct bench *bench = *state;

	for (uint32_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct rnic_send_wqe entry;
		struct rnic_sge sge;

		bench->ex->wr_id = 100 + i;
		bench->ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
		ibv_wr_start(bench->ex);
		rows[i].call(bench->ex);
		ibv_wr_set_sge(bench->ex, 9, 0x1000, 8);
		assert_int_equal(ibv_wr_complete(bench->ex), 0);
		assert_int_equal(published(bench), i + 1);
		atomic_store(&bench->fake->qp.send.retired, i + 1);

		entry = entry_at(bench, i);
		assert_int_equal(entry.wr_id, 100 + i);
		assert_int_equal(entry.opcode, rows[i].opcode);
		assert_int_equal(entry.flags, RNIC_SEND_SIGNALED);
		assert_int_equal(entry.immediate, rows[i].immediate);
		assert_int_equal(entry.rkey, rows[i].is_remote ? RKEY : 0);
		assert_int_equal(entry.remote_address, rows[i].is_remote ? ADDRESS : 0);
		assert_int_equal(entry.sge_count, 1);
		sge = entry.sge;
		if (rows[i].swap_or_add != 0) {
			assert_int_equal(entry.atomic.compare, rows[i].compare);
			assert_int_equal(entry.atomic.swap_or_add, rows[i].swap_or_add);
			memcpy(&sge, side_at(bench, i), sizeof(sge));
		}
		assert_int_equal(sge.address, 0x1000);
		assert_int_equal(sge.length, 8);
		assert_int_equal(sge.lkey, 9);
	}
}

/* Each request keeps the wr_id and the flags that were set when it began. */
static void test_what_takes_no_elements(void **state)
{
	struct rnic_verbs_mw window = {.mw.type = IBV_MW_TYPE_2,
				       .native = (struct rnic_mw *)&native_window};
	struct rnic_verbs_mr region = {.native = (struct rnic_mr *)&native_region};
	const struct ibv_mw_bind_info info = {&region.mr, ADDRESS, 99, IBV_ACCESS_REMOTE_READ};
	struct bench *bench = *state;
	struct rnic_send_wqe entry;

	ibv_wr_start(bench->ex);
	ibv_wr_bind_mw(bench->ex, &window.mw, RKEY, &info);
	ibv_wr_local_inv(bench->ex, RKEY + 1);
	ibv_wr_atomic_write(bench->ex, RKEY, ADDRESS, "8 bytes");
	assert_int_equal(ibv_wr_complete(bench->ex), 0);
	entry = entry_at(bench, 0);
	assert_int_equal(entry.opcode, RNIC_WR_BIND_MW);
	assert_int_equal(entry.rkey, RKEY);
	assert_int_equal(entry.immediate, 0x77);
	assert_true(entry.remote_address == ADDRESS);
	assert_int_equal(entry.bind.length, 99);
	assert_int_equal(entry.bind.access, RNIC_ACCESS_REMOTE_READ);
	entry = entry_at(bench, 1);
	assert_int_equal(entry.opcode, RNIC_WR_LOCAL_INVALIDATE);
	assert_int_equal(entry.immediate, RKEY + 1);
	entry = entry_at(bench, 2);
	assert_int_equal(entry.opcode, RNIC_WR_ATOMIC_WRITE);
	assert_int_equal(entry.inline_bytes, 8);
	assert_memory_equal(entry.inline_data, "8 bytes", 8);

	/* The keys of type 1 are not the caller's to choose. */
	window.mw.type = IBV_MW_TYPE_1;
	ibv_wr_start(bench->ex);
	ibv_wr_bind_mw(bench->ex, &window.mw, RKEY, &info);
	assert_int_equal(ibv_wr_complete(bench->ex), EINVAL);
}

static void test_bind_takes_a_tag_and_shows_the_key(void **state)
{
	struct rnic_verbs_mw window = {.mw = {.type = IBV_MW_TYPE_2, .rkey = native_window.rkey},
				       .native = (struct rnic_mw *)&native_window};
	struct rnic_verbs_mr region = {.native = (struct rnic_mr *)&native_region};
	const struct ibv_mw_bind_info info = {&region.mr, ADDRESS, 99, IBV_ACCESS_REMOTE_READ};
	struct bench *bench = *state;

	ibv_wr_start(bench->ex);
	ibv_wr_bind_mw(bench->ex, &window.mw, 0x11, &info);
	ibv_wr_local_inv(bench->ex, native_window.rkey + 0x11);
	ibv_wr_bind_mw(bench->ex, &window.mw, 0x22, &info);
	assert_int_equal(window.mw.rkey, native_window.rkey);
	assert_int_equal(ibv_wr_complete(bench->ex), 0);
	assert_int_equal(entry_at(bench, 0).rkey, native_window.rkey + 0x11);
	assert_int_equal(entry_at(bench, 2).rkey, native_window.rkey + 0x22);
	assert_int_equal(window.mw.rkey, native_window.rkey + 0x22);

	ibv_wr_start(bench->ex);
	ibv_wr_bind_mw(bench->ex, &window.mw, 0x33, &info);
	ibv_wr_abort(bench->ex);
	assert_int_equal(window.mw.rkey, native_window.rkey + 0x22);
}

static void test_batch_is_published_at_once(void **state)
{
	struct bench *bench = *state;
	uint32_t doorbell;

	ibv_wr_start(bench->ex);
	for (uint32_t i = 0; i < DEPTH; i++) {
		bench->ex->wr_id = i;
		bench->ex->wr_flags = i % 2 == 0 ? IBV_SEND_SIGNALED : IBV_SEND_FENCE;
		ibv_wr_send(bench->ex);
		ibv_wr_set_sge(bench->ex, 9, i, 8);
		assert_int_equal(published(bench), 0);
	}
	assert_int_equal(fake_session_doorbells(bench->fake, &doorbell), 0);
	assert_int_equal(ibv_wr_complete(bench->ex), 0);
	assert_int_equal(published(bench), DEPTH);
	assert_int_equal(fake_session_doorbells(bench->fake, &doorbell), 1);
	for (uint32_t i = 0; i < DEPTH; i++) {
		assert_int_equal(entry_at(bench, i).wr_id, i);
		assert_int_equal(entry_at(bench, i).sge.address, i);
		assert_int_equal(entry_at(bench, i).flags,
				 i % 2 == 0 ? RNIC_SEND_SIGNALED : RNIC_SEND_FENCE);
	}
}

static void test_abort(void **state)
{
	struct bench *bench = *state;
	uint32_t doorbell;

	ibv_wr_start(bench->ex);
	for (uint32_t i = 0; i < DEPTH; i++)
		ibv_wr_send(bench->ex);
	ibv_wr_abort(bench->ex);
	assert_int_equal(published(bench), 0);
	assert_int_equal(fake_session_doorbells(bench->fake, &doorbell), 0);

	bench->ex->wr_id = 55;
	ibv_wr_start(bench->ex);
	ibv_wr_send(bench->ex);
	assert_int_equal(ibv_wr_complete(bench->ex), 0);
	assert_int_equal(published(bench), 1);
	assert_int_equal(entry_at(bench, 0).wr_id, 55);
}

static void too_much_inline(struct ibv_qp_ex *qp)
{
	static uint8_t data[INLINE_BYTES + 1];

	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, data, sizeof(data));
}

static void too_many_elements(struct ibv_qp_ex *qp)
{
	static const struct ibv_sge elements[4];

	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, RNIC_COUNT_OF(elements), elements);
}

static void absurdly_many_elements(struct ibv_qp_ex *qp)
{
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, SIZE_MAX, NULL);
}

static void too_many_requests(struct ibv_qp_ex *qp)
{
	for (uint32_t i = 0; i <= DEPTH; i++)
		ibv_wr_send(qp);
}

static void with_a_checksum(struct ibv_qp_ex *qp)
{
	qp->wr_flags = IBV_SEND_IP_CSUM;
	ibv_wr_send(qp);
	qp->wr_flags = 0;
}

static void not_served(struct ibv_qp_ex *qp)
{
	ibv_wr_send_tso(qp, NULL, 0, 0);
}

/* One bad request spoils the batch: good ones before and behind it do not go out either. */
static void test_errors_surface_at_complete(void **state)
{
	static const struct {
		void (*call)(struct ibv_qp_ex *qp);
		int result;
	} rows[] = {
		{too_much_inline, EINVAL},	  {too_many_elements, EINVAL},
		{absurdly_many_elements, EINVAL}, {too_many_requests, ENOMEM},
		{not_served, EOPNOTSUPP},	  {with_a_checksum, EINVAL},
	};
	struct bench *bench = *state;

	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		ibv_wr_start(bench->ex);
		ibv_wr_send(bench->ex);
		rows[i].call(bench->ex);
		ibv_wr_send(bench->ex);
		assert_int_equal(ibv_wr_complete(bench->ex), rows[i].result);
		assert_int_equal(published(bench), 0);
		assert_int_equal(bench->fake->qp.send.producer, 0);
	}
	ibv_wr_start(bench->ex);
	ibv_wr_send(bench->ex);
	assert_int_equal(ibv_wr_complete(bench->ex), 0);
	assert_int_equal(published(bench), 1);
}

/* Programs ask wr_flush(), a member of later headers, whether the queue pair has FLUSH. */
static void test_later_operations_are_null_unless_asked_for(void **state)
{
	static const uint8_t nothing[sizeof(((struct rnic_verbs_qp *)NULL)->view)];
	const size_t first = offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *);
	struct rnic_verbs_qp qp = {.qp.qp_type = IBV_QPT_RC};

	(void)state;
	rnic_verbs_fill_unsupported_qp(&qp);
	assert_int_equal(rnic_verbs_add_send_batch(&qp, IBV_QP_EX_WITH_SEND, INLINE_BYTES), 0);
	assert_non_null(qp.qp_ex.wr_send);
	assert_non_null(qp.qp_ex.wr_rdma_read);
	assert_memory_equal(qp.view + first, nothing, sizeof(nothing) - first);
	free(qp.batch);
}

static void test_wrong_state(void **state)
{
	struct bench *bench = *state;

	atomic_store(&bench->fake->qp.state, RNIC_QP_STATE_RTR);
	ibv_wr_start(bench->ex);
	ibv_wr_send(bench->ex);
	assert_int_equal(ibv_wr_complete(bench->ex), EINVAL);
	ibv_wr_start(bench->ex);
	ibv_wr_abort(bench->ex);
	assert_int_equal(published(bench), 0);

	atomic_store(&bench->fake->qp.state, RNIC_QP_STATE_RTS);
	ibv_wr_start(bench->ex);
	assert_int_equal(ibv_wr_complete(bench->ex), 0);
	assert_int_equal(published(bench), 0);
}

static void test_inline_data_is_copied_at_once(void **state)
{
	struct bench *bench = *state;
	char first[] = "abc", second[] = "defgh";
	const struct ibv_data_buf list[] = {{first, 3}, {NULL, 0}, {second, 5}};

	ibv_wr_start(bench->ex);
	ibv_wr_send(bench->ex);
	ibv_wr_set_inline_data_list(bench->ex, RNIC_COUNT_OF(list), list);
	memset(first, 'x', sizeof(first));
	memset(second, 'x', sizeof(second));
	ibv_wr_rdma_write(bench->ex, RKEY, ADDRESS);
	ibv_wr_set_inline_data(bench->ex, second, 0);
	assert_int_equal(ibv_wr_complete(bench->ex), 0);

	assert_int_equal(entry_at(bench, 0).flags, RNIC_SEND_INLINE);
	assert_int_equal(entry_at(bench, 0).inline_bytes, 8);
	assert_memory_equal(entry_at(bench, 0).inline_data, "abcdefgh", 8);
	assert_int_equal(entry_at(bench, 1).flags, RNIC_SEND_INLINE);
	assert_int_equal(entry_at(bench, 1).inline_bytes, 0);
}

static void test_element_list(void **state)
{
	static const struct ibv_sge elements[] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
	struct bench *bench = *state;

	ibv_wr_start(bench->ex);
	ibv_wr_rdma_write(bench->ex, RKEY, ADDRESS);
	ibv_wr_set_sge_list(bench->ex, RNIC_COUNT_OF(elements), elements);
	assert_int_equal(ibv_wr_complete(bench->ex), 0);
	assert_int_equal(entry_at(bench, 0).sge_count, 3);
	assert_memory_equal(side_at(bench, 0), elements, sizeof(elements));
}

static void test_what_is_served(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		uint64_t operation;
		bool is_served;
	} rows[] = {
		{IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, true},
		{IBV_QPT_RC, IBV_QP_EX_WITH_TSO, false},
		{IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE, true},
		{IBV_QPT_RC, IBV_QP_EX_WITH_BIND_MW, true},
		{IBV_QPT_UC, IBV_QP_EX_WITH_LOCAL_INV, true},
		{IBV_QPT_UC, IBV_QP_EX_WITH_SEND_WITH_INV, false},
		{IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_WRITE, false},
		{IBV_QPT_UD, IBV_QP_EX_WITH_BIND_MW, false},
		{IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_WRITE, true},
		{IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ, false},
		{IBV_QPT_UD, IBV_QP_EX_WITH_SEND_WITH_IMM, true},
		{IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE, false},
		{IBV_QPT_RAW_PACKET, IBV_QP_EX_WITH_SEND, false},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++)
		assert_int_equal(
			(rnic_verbs_served_send_operations(rows[i].type) & rows[i].operation) != 0,
			rows[i].is_served);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_operations, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_takes_no_elements, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bind_takes_a_tag_and_shows_the_key, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_batch_is_published_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_abort, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_errors_surface_at_complete, set_up, tear_down),
		cmocka_unit_test(test_later_operations_are_null_unless_asked_for),
		cmocka_unit_test_setup_teardown(test_wrong_state, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_inline_data_is_copied_at_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_element_list, set_up, tear_down),
		cmocka_unit_test(test_what_is_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
