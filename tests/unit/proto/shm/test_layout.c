/* SPDX-License-Identifier: MIT */
#include "proto/shm/cqe.h"
#include "proto/shm/wqe.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

static void test_plans(void **state)
{
	static const struct {
		struct rnic_qp_capacities capacities;
		uint32_t send_slots, send_stride, recv_slots, recv_stride;
		uint64_t recv_entries, recv_side, entries_bytes, spill_bytes;
	} cases[] = {
		{{0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0},
		{{0, 0, 1, 0, 64}, 0, 0, 0, 0, 0, 0, 0, 0},
		{{1, 1, 1, 1, 0}, 1, 0, 1, 0, 64, 0, 88, 0},
		{{128, 128, 1, 1, 0}, 128, 0, 128, 0, 6144, 0, 9216, 0},
		{{100, 0, 2, 9, 0}, 128, 64, 0, 0, 6144, 8192, 6144, 8192},
		{{0, 100, 2, 9, 64}, 0, 0, 128, 192, 0, 0, 3072, 24576},
		{{4, 3, 4, 5, 236}, 4, 256, 4, 128, 192, 1024, 288, 1536},
		{{32768, 32768, 32, 32, 1024},
		 32768,
		 1024,
		 32768,
		 512,
		 32768 * 48,
		 32768 * 1024,
		 32768 * 72,
		 32768 * 1536},
	};
	struct rnic_queues_plan plan;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		assert_int_equal(rnic_queues_plan(&cases[i].capacities, &plan), 0);
		assert_int_equal(plan.send.entries_offset, 0);
		assert_int_equal(plan.send.slots, cases[i].send_slots);
		assert_int_equal(plan.send.spill_stride_bytes, cases[i].send_stride);
		assert_int_equal(plan.recv.slots, cases[i].recv_slots);
		assert_int_equal(plan.recv.spill_stride_bytes, cases[i].recv_stride);
		assert_int_equal(plan.send.spill_offset, 0);
		assert_int_equal(plan.recv.entries_offset, cases[i].recv_entries);
		assert_int_equal(plan.recv.spill_offset, cases[i].recv_side);
		assert_int_equal(plan.entries_bytes, cases[i].entries_bytes);
		assert_int_equal(plan.spill_bytes, cases[i].spill_bytes);
	}
}

static void test_srq_plans(void **state)
{
	static const struct {
		struct rnic_srq_attributes granted;
		uint32_t slots, stride;
		uint64_t side, region_bytes;
	} cases[] = {
		{{.max_wr = 1, .max_sge = 1}, 1, 0, 256, 4096},
		{{.max_wr = 100, .max_sge = 1}, 128, 0, 3264, 4096},
		{{.max_wr = 128, .max_sge = 5}, 128, 128, 3264, 20480},
	};
	static const struct rnic_srq_attributes refused[] = {
		{.max_wr = RNIC_WR_DEPTH_MAX + 1, .max_sge = 1},
		{.max_wr = 1, .max_sge = RNIC_SGE_COUNT_MAX + 1},
	};
	struct rnic_srq_plan plan;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(refused); i++)
		assert_int_equal(rnic_srq_plan(&refused[i], &plan), -EINVAL);
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		assert_int_equal(rnic_srq_plan(&cases[i].granted, &plan), 0);
		assert_int_equal(plan.recv.entries_offset, sizeof(struct rnic_srq_region));
		assert_int_equal(plan.recv.slots, cases[i].slots);
		assert_int_equal(plan.recv.spill_stride_bytes, cases[i].stride);
		assert_int_equal(plan.recv.spill_offset, cases[i].side);
		assert_int_equal(plan.region_bytes, cases[i].region_bytes);
	}
}

struct span {
	uint64_t start, end;
};

/* For all capacities: nothing overlaps, everything lies in its area, elements are aligned. */
static void check_plan(const struct rnic_qp_capacities *capacities)
{
	struct rnic_queues_plan plan;
	struct span spans[4];

	assert_int_equal(rnic_queues_plan(capacities, &plan), 0);
	assert_true(plan.send.slots >= capacities->max_send_wr);
	assert_true(plan.recv.slots >= capacities->max_recv_wr);
	assert_true(capacities->max_send_sge <= 1 || plan.send.slots == 0 ||
		    plan.send.spill_stride_bytes >= capacities->max_send_sge * 16);
	assert_true(plan.send.slots == 0 ||
		    plan.send.spill_stride_bytes >= capacities->max_inline_bytes);
	spans[0] = (struct span){plan.send.entries_offset,
				 plan.send.entries_offset +
					 plan.send.slots * sizeof(struct rnic_send_wqe)};
	spans[1] = (struct span){plan.recv.entries_offset,
				 plan.recv.entries_offset +
					 plan.recv.slots * sizeof(struct rnic_recv_wqe)};
	spans[2] = (struct span){plan.send.spill_offset,
				 plan.send.spill_offset +
					 (uint64_t)plan.send.slots * plan.send.spill_stride_bytes};
	spans[3] = (struct span){plan.recv.spill_offset,
				 plan.recv.spill_offset +
					 (uint64_t)plan.recv.slots * plan.recv.spill_stride_bytes};
	for (size_t i = 0; i < RNIC_COUNT_OF(spans); i++) {
		assert_true(spans[i].start % RNIC_CACHE_LINE_BYTES == 0);
		assert_true(spans[i].end <= (i < 2 ? plan.entries_bytes : plan.spill_bytes));
		if (i % 2 == 1)
			assert_true(spans[i].start >= spans[i - 1].end);
	}
}

static void test_plans_hold_together(void **state)
{
	static const uint32_t depths[] = {0, 1, 2, 3, 127, 128, 129, 32767, 32768};
	static const uint32_t sge_counts[] = {0, 1, 2, 31, 32};
	static const uint32_t inline_sizes[] = {0, 1, 63, 64, 65, 1024};

	(void)state;
	for (size_t a = 0; a < RNIC_COUNT_OF(depths); a++)
		for (size_t b = 0; b < RNIC_COUNT_OF(depths); b++)
			for (size_t c = 0; c < RNIC_COUNT_OF(sge_counts); c++)
				for (size_t d = 0; d < RNIC_COUNT_OF(inline_sizes); d++)
					check_plan(&(struct rnic_qp_capacities){
						.max_send_wr = depths[a],
						.max_recv_wr = depths[b],
						.max_send_sge = sge_counts[c],
						.max_recv_sge = sge_counts[c],
						.max_inline_bytes = inline_sizes[d]});
}

static void test_plan_refuses(void **state)
{
	static const struct rnic_qp_capacities cases[] = {
		{.max_send_wr = RNIC_WR_DEPTH_MAX + 1},
		{.max_recv_wr = RNIC_WR_DEPTH_MAX + 1},
		{.max_send_sge = RNIC_SGE_COUNT_MAX + 1},
		{.max_recv_sge = UINT32_MAX},
		{.max_inline_bytes = RNIC_INLINE_BYTES_MAX + 1},
		{.max_send_wr = UINT32_MAX, .max_send_sge = UINT32_MAX},
	};
	const struct rnic_queues_plan untouched = {.entries_bytes = 42};
	struct rnic_queues_plan plan = untouched;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		assert_int_equal(rnic_queues_plan(&cases[i], &plan), -EINVAL);
	assert_memory_equal(&plan, &untouched, sizeof(plan));
}

static void test_grants(void **state)
{
	static const struct {
		struct rnic_qp_capacities wanted, granted;
		uint32_t type;
		bool has_srq;
	} cases[] = {
		{{7, 8, 2, 3, 100}, {7, 8, 2, 3, 100}, RNIC_QP_TYPE_RC, false},
		{{0, 0, 0, 0, 0}, {0, 0, 1, 1, 64}, RNIC_QP_TYPE_UD, false},
		{{7, 8, 2, 3, 65}, {7, 0, 2, 0, 65}, RNIC_QP_TYPE_RC, true},
		{{7, 8, 2, 3, 63}, {7, 0, 2, 0, 64}, RNIC_QP_TYPE_XRC_INITIATOR, false},
		{{7, 8, 2, 3, 64}, {0, 0, 0, 0, 0}, RNIC_QP_TYPE_XRC_TARGET, false},
	};
	struct rnic_qp_capacities granted;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		rnic_queues_grant(&cases[i].wanted, cases[i].type, cases[i].has_srq, &granted);
		assert_memory_equal(&granted, &cases[i].granted, sizeof(granted));
	}
}

static void test_cq(void **state)
{
	static const struct {
		uint32_t entries, slots;
	} cases[] = {
		{1, 1}, {2, 2}, {3, 4}, {100, 128}, {RNIC_CQ_ENTRIES_MAX, RNIC_CQ_ENTRIES_MAX}};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++)
		assert_int_equal(rnic_cq_slots(cases[i].entries), cases[i].slots);
	assert_int_equal(rnic_cq_region_bytes(1, 0), 4096);
	assert_int_equal(rnic_cq_region_bytes(1, RNIC_CQ_TIMESTAMPS), 4096 + 8);
	assert_int_equal(rnic_cq_region_bytes(RNIC_CQ_ENTRIES_MAX, RNIC_CQ_TIMESTAMPS),
			 4096 + (UINT64_C(1) << 27) + (UINT64_C(1) << 25));
}

/* The places of the bits, which proto/shm/README.md shows. */
static void test_cqe(void **state)
{
	static const uint8_t expected[32] = {
		0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* wr_id */
		0x12, 0x11, 0x10, 0x09, 0x16, 0x15, 0x14, 0x13, /* byte_count, immediate */
		0x19, 0x18, 0x17, 0x1a, 0x1d, 0x1c, 0x1b, 0x1e, /* qpn, status, source */
		0x22, 0x21, 0x20, 0x23, 0x25, 0x24, 0x26, 0x87, /* retired, flags, slot, opcode */
	};
	const struct rnic_cqe entry = {
		.wr_id = 0x0102030405060708,
		.byte_count = 0x09101112,
		.immediate = 0x13141516,
		.qpn = 0x171819,
		.status = 0x1a,
		.source_qpn = 0x1b1c1d,
		.source_gid_index = 0x1e,
		.retired = 0x202122,
		.wc_flags = 0x23,
		.qp_slot = 0x2425,
		.opcode = 0x26,
		.flags = 7,
		.service_level = 8,
	};

	(void)state;
	assert_memory_equal(&entry, expected, sizeof(expected));
}

static void test_doorbells(void **state)
{
	static const struct {
		enum rnic_doorbell_kind kind;
		uint32_t slot;
	} cases[] = {
		{RNIC_DOORBELL_SEND, 0},
		{RNIC_DOORBELL_RECV, RNIC_SESSION_QPS_MAX - 1},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		uint32_t value = RNIC_DOORBELL(cases[i].kind, cases[i].slot);

		assert_int_equal(RNIC_DOORBELL_KIND(value), cases[i].kind);
		assert_int_equal(RNIC_DOORBELL_SLOT(value), cases[i].slot);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_srq_plans),
		cmocka_unit_test(test_plans_hold_together),
		cmocka_unit_test(test_plan_refuses),
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_cq),
		cmocka_unit_test(test_cqe),
		cmocka_unit_test(test_doorbells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
