/* SPDX-License-Identifier: MIT */
/*
 * The daemon's memory for a queue pair, counted as the daemon allocates it: the bytes of every
 * allocation, tables that grow with the number of QPs included, and its rings.
 * Resident memory, which tests/bench measures, is this and the allocator's share.
 */
#include "tests/unit/lib/nic/engine/engine_fixture.h"

#include "daemon/device/queues/session_queues.h"
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#define QPS	       64
#define DEPTH	       128
#define BYTES_PER_QP   (13 * 1024)
#define BYTES_PER_READ 64

/* The linker puts these before the C library's. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

static uint64_t allocated_bytes;

void *__wrap_malloc(size_t bytes)
{
	allocated_bytes += bytes;
	return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	allocated_bytes += count * bytes;
	return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	allocated_bytes += bytes;
	return __real_realloc(memory, bytes);
}

/* As perftest creates its queue pairs, but for the READs that it answers. */
static struct fixture_options options_for(uint8_t max_dest_rd_atomic)
{
	struct fixture_options options = fixture_defaults;

	options.max_dest_rd_atomic = max_dest_rd_atomic;
	options.capacities = (struct rnic_qp_capacities){
		.max_send_wr = DEPTH,
		.max_recv_wr = DEPTH,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline_bytes = 64,
	};
	return options;
}

/* Of the engine, for each of many queue pairs in RTS. */
static uint64_t engine_bytes_per_qp(const struct fixture_options *options)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct qp *qps[QPS];
	uint64_t bytes;

	allocated_bytes = 0;
	for (uint32_t i = 0; i < QPS; i++)
		qps[i] = fixture_create_qp(fixture, options);
	bytes = allocated_bytes / QPS;
	for (uint32_t i = 0; i < QPS; i++)
		qp_destroy(qps[i]);
	fixture_destroy(fixture);
	return bytes;
}

/* The entries; a client touches the spill areas only with inline data or many SGEs. */
static uint64_t ring_bytes(const struct rnic_qp_capacities *capacities)
{
	struct rnic_queues_plan plan;

	assert_int_equal(rnic_queues_plan(capacities, &plan), 0);
	return plan.entries_bytes;
}

static void test_a_qp_is_small(void **state)
{
	const struct fixture_options options = options_for(1);
	uint64_t bytes = engine_bytes_per_qp(&options) + sizeof(struct session_qp) +
			 ring_bytes(&options.capacities);

	(void)state;
	print_message("%u bytes for a QP %d deep\n", (unsigned)bytes, DEPTH);
	assert_in_range(bytes, 1, BYTES_PER_QP);
}

/* The responder resources are sized by the number of READs that RTR allows. */
static void test_reads_cost_what_was_agreed(void **state)
{
	const struct fixture_options few = options_for(1), many = options_for(LIMIT_RD_ATOMIC);
	uint64_t bytes = engine_bytes_per_qp(&many) - engine_bytes_per_qp(&few);

	(void)state;
	assert_in_range(bytes, 1, (LIMIT_RD_ATOMIC - 1) * BYTES_PER_READ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_qp_is_small),
		cmocka_unit_test(test_reads_cost_what_was_agreed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
