/* SPDX-License-Identifier: MIT */
#include "daemon/device/queues/wqe_fetch.h"

#include "lib/nic/engine/objects/recv_queue.h"
#include "tests/unit/unit_test.h"

static const struct rnic_qp_capacities capacities = {
	.max_send_wr = 16,
	.max_recv_wr = 16,
	.max_send_sge = 4,
	.max_recv_sge = 3,
	.max_inline_bytes = 64,
};

static void test_sound_entries(void **state)
{
	static const struct {
		struct rnic_send_wqe entry;
		uint32_t sges, length;
	} cases[] = {
		{{.opcode = RNIC_WR_SEND}, 0, 0},
		{{.opcode = RNIC_WR_SEND, .sge_count = 4, .flags = RNIC_SEND_FENCE}, 4, 0},
		{{.opcode = RNIC_WR_SEND_WITH_IMM, .flags = RNIC_SEND_SOLICITED}, 0, 0},
		{{.opcode = RNIC_WR_RDMA_WRITE, .flags = RNIC_SEND_INLINE, .inline_bytes = 64},
		 0,
		 64},
		{{.opcode = RNIC_WR_RDMA_WRITE_WITH_IMM, .flags = RNIC_SEND_INLINE}, 0, 0},
		{{.opcode = RNIC_WR_RDMA_READ, .sge_count = 1, .flags = RNIC_SEND_SIGNALED}, 1, 0},
		{{.opcode = RNIC_WR_ATOMIC_COMPARE_SWAP, .sge_count = 1}, 1, 0},
		{{.opcode = RNIC_WR_ATOMIC_FETCH_ADD, .sge_count = 1}, 1, 0},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		struct send_wqe wqe;

		wqe_fetch_check_send(&cases[i].entry, RNIC_QP_TYPE_RC, &capacities, &wqe);
		assert_int_equal(wqe.opcode, cases[i].entry.opcode);
		assert_int_equal(wqe.flags, cases[i].entry.flags);
		assert_int_equal(wqe.sge_count, cases[i].sges);
		assert_int_equal(wqe.length, cases[i].length);
	}
}

static void test_fields_are_carried_over(void **state)
{
	const struct rnic_send_wqe entry = {
		.wr_id = UINT64_MAX,
		.opcode = RNIC_WR_ATOMIC_COMPARE_SWAP,
		.sge_count = 1,
		.immediate = 5,
		.remote_address = 6,
		.rkey = 7,
		.atomic = {.compare = 8, .swap_or_add = 9},
	};
	struct send_wqe wqe;

	(void)state;
	wqe_fetch_check_send(&entry, RNIC_QP_TYPE_RC, &capacities, &wqe);
	assert_int_equal(wqe.wr_id, UINT64_MAX);
	assert_int_equal(wqe.immediate, 5);
	assert_int_equal(wqe.remote_address, 6);
	assert_int_equal(wqe.rkey, 7);
	assert_int_equal(wqe.atomic.compare, 8);
	assert_int_equal(wqe.atomic.swap_or_add, 9);
}

static void test_xrc_has_room_for_its_srq(void **state)
{
	static const uint8_t opcodes[] = {RNIC_WR_SEND_WITH_IMM, RNIC_WR_RDMA_WRITE,
					  RNIC_WR_ATOMIC_FETCH_ADD};
	struct send_wqe wqe;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(opcodes); i++) {
		const struct rnic_send_wqe entry = {
			.opcode = opcodes[i],
			.immediate = 5,
			.rkey = 7,
			.srqn = 0x123456,
		};

		wqe_fetch_check_send(&entry, RNIC_QP_TYPE_XRC_INITIATOR, &capacities, &wqe);
		assert_int_equal(wqe.opcode, opcodes[i]);
		assert_int_equal(wqe.srqn, 0x123456);
		assert_int_equal(wqe.immediate, 5);
		wqe_fetch_check_send(&entry, RNIC_QP_TYPE_RC, &capacities, &wqe);
		assert_int_equal(wqe.srqn, 0);
	}
}

static void test_bind(void **state)
{
	const struct rnic_send_wqe entry = {
		.opcode = RNIC_WR_BIND_MW,
		.immediate = 5,
		.remote_address = 6,
		.rkey = 7,
		.bind = {.length = UINT64_MAX, .access = UINT32_MAX},
	};
	struct send_wqe wqe;

	(void)state;
	wqe_fetch_check_send(&entry, RNIC_QP_TYPE_UC, &capacities, &wqe);
	assert_int_equal(wqe.opcode, RNIC_WR_BIND_MW);
	assert_int_equal(wqe.immediate, 5);
	assert_int_equal(wqe.remote_address, 6);
	assert_int_equal(wqe.rkey, 7);
	assert_true(wqe.bind.length == UINT64_MAX);
	assert_int_equal(wqe.bind.access, UINT32_MAX);
}

static void test_flush(void **state)
{
	const struct rnic_send_wqe entry = {
		.opcode = RNIC_WR_FLUSH,
		.remote_address = 6,
		.rkey = 7,
		.flush = {.length = 8, .type = 9},
	};
	struct send_wqe wqe;

	(void)state;
	wqe_fetch_check_send(&entry, RNIC_QP_TYPE_RC, &capacities, &wqe);
	assert_int_equal(wqe.opcode, RNIC_WR_FLUSH);
	assert_int_equal(wqe.remote_address, 6);
	assert_int_equal(wqe.rkey, 7);
	assert_int_equal(wqe.flush.length, 8);
	assert_int_equal(wqe.flush.type, 9);
}

static void test_malformed_entries(void **state)
{
	static const struct rnic_send_wqe cases[] = {
		{.opcode = RNIC_WR_OPCODE_COUNT},
		{.opcode = 0xff},
		{.opcode = 12},
		{.opcode = RNIC_WR_LOCAL_INVALIDATE, .sge_count = 1},
		{.opcode = RNIC_WR_BIND_MW, .sge_count = 1},
		{.opcode = RNIC_WR_BIND_MW, .bind.reserved = 1},
		{.opcode = RNIC_WR_BIND_MW, .flags = RNIC_SEND_INLINE},
		{.opcode = RNIC_WR_FLUSH, .sge_count = 1},
		{.opcode = RNIC_WR_FLUSH, .flush.reserved = {1, 0}},
		{.opcode = RNIC_WR_FLUSH, .flush.reserved = {0, 1}},
		{.opcode = RNIC_WR_SEND, .sge_count = 5},
		{.opcode = RNIC_WR_SEND, .sge_count = 256},
		{.opcode = RNIC_WR_SEND, .sge_count = UINT16_MAX},
		{.opcode = RNIC_WR_SEND, .flags = 0x10},
		{.opcode = RNIC_WR_SEND, .flags = 0x80},
		{.opcode = RNIC_WR_SEND, .flags = RNIC_SEND_INLINE, .inline_bytes = 65},
		{.opcode = RNIC_WR_SEND, .flags = RNIC_SEND_INLINE, .inline_bytes = UINT16_MAX},
		{.opcode = RNIC_WR_RDMA_READ, .flags = RNIC_SEND_INLINE, .inline_bytes = 8},
		{.opcode = RNIC_WR_ATOMIC_FETCH_ADD, .flags = RNIC_SEND_INLINE, .inline_bytes = 8},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		struct rnic_send_wqe entry = cases[i];
		struct send_wqe wqe;

		entry.wr_id = 1000 + i;
		entry.flags |= RNIC_SEND_SIGNALED;
		wqe_fetch_check_send(&entry, RNIC_QP_TYPE_RC, &capacities, &wqe);
		assert_int_equal(wqe.opcode, WQE_FETCH_BAD_OPCODE);
		assert_int_equal(wqe.wr_id, 1000 + i);
		assert_int_equal(wqe.flags, RNIC_SEND_SIGNALED);
		assert_int_equal(wqe.sge_count, 0);
		assert_int_equal(wqe.length, 0);
	}
}

/* IBTA 1.4, table 37: which services have which operation. */
static void test_services(void **state)
{
	static const struct {
		uint8_t opcode;
		bool is_rc, is_uc, is_ud;
	} cases[] = {
		{RNIC_WR_SEND, true, true, true},
		{RNIC_WR_SEND_WITH_INVALIDATE, true, false, false},
		{RNIC_WR_LOCAL_INVALIDATE, true, true, false},
		{RNIC_WR_BIND_MW, true, true, false},
		{RNIC_WR_FLUSH, true, false, false},
		{RNIC_WR_ATOMIC_WRITE, true, false, false},
		{RNIC_WR_SEND_WITH_IMM, true, true, true},
		{RNIC_WR_RDMA_WRITE, true, true, false},
		{RNIC_WR_RDMA_WRITE_WITH_IMM, true, true, false},
		{RNIC_WR_RDMA_READ, true, false, false},
		{RNIC_WR_ATOMIC_COMPARE_SWAP, true, false, false},
		{RNIC_WR_ATOMIC_FETCH_ADD, true, false, false},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		const struct rnic_send_wqe entry = {.opcode = cases[i].opcode};
		struct send_wqe wqe;

		wqe_fetch_check_send(&entry, RNIC_QP_TYPE_RC, &capacities, &wqe);
		assert_int_equal(wqe.opcode != WQE_FETCH_BAD_OPCODE, cases[i].is_rc);
		wqe_fetch_check_send(&entry, RNIC_QP_TYPE_UC, &capacities, &wqe);
		assert_int_equal(wqe.opcode != WQE_FETCH_BAD_OPCODE, cases[i].is_uc);
		wqe_fetch_check_send(&entry, RNIC_QP_TYPE_UD, &capacities, &wqe);
		assert_int_equal(wqe.opcode != WQE_FETCH_BAD_OPCODE, cases[i].is_ud);
	}
}

static void test_receive_entries(void **state)
{
	static const struct {
		uint32_t length; /* of the SGE in the WQE */
		bool is_valid;
		uint32_t sge_count;
	} cases[] = {
		{0, true, 1},
		{1, true, 1},
		{RNIC_MESSAGE_BYTES_MAX, true, 1},
		{RNIC_RECV_SGES_BESIDE - 1, true, 1},
		{RNIC_RECV_SGES_BESIDE, true, 0},
		{RNIC_RECV_SGES_BESIDE + 1, false, 0},
		{RNIC_RECV_SGES_BESIDE + 2, true, 2},
		{RNIC_RECV_SGES_BESIDE + 3, true, 3},
		{RNIC_RECV_SGES_BESIDE + 4, false, 0},
		{UINT32_MAX, false, 0},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		const struct rnic_recv_wqe entry = {
			.wr_id = 1000 + i,
			.sge = {.length = cases[i].length},
		};
		struct recv_wqe wqe;

		wqe_fetch_check_recv(&entry, capacities.max_recv_sge, &wqe);
		assert_int_equal(wqe.wr_id, 1000 + i);
		assert_int_equal(!wqe.invalid, cases[i].is_valid);
		assert_int_equal(wqe.sge_count, cases[i].sge_count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound_entries),
		cmocka_unit_test(test_fields_are_carried_over),
		cmocka_unit_test(test_xrc_has_room_for_its_srq),
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_malformed_entries),
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_receive_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
