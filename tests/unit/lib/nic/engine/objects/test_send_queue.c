/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/send_queue.h"

#include "lib/nic/engine/engine_limits.h"
#include "proto/wire/opcode.h"
#include "tests/unit/unit_test.h"

static void test_space_and_order(void **state)
{
	struct send_queue queue;
	struct rnic_sge sges[2] = {{1, 2, 3}, {4, 5, 6}};

	(void)state;
	assert_int_equal(send_queue_init(&queue, NULL, 3, 2, 16), 0);
	assert_int_equal(queue.slots, 4);
	queue.posted = queue.next = queue.retired = UINT32_MAX - 1; /* cursors wrap */
	for (uint64_t i = 0; i < 4; i++) {
		struct send_wqe wqe = {.wr_id = i, .opcode = RNIC_WR_SEND, .sge_count = 2};

		assert_int_equal(send_queue_space(&queue), 4 - i);
		sges[0].address = i;
		send_queue_push(&queue, &wqe, sges, NULL);
	}
	assert_int_equal(send_queue_space(&queue), 0);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t index = queue.retired + i;

		assert_int_equal(send_queue_at(&queue, index)->wr_id, i);
		assert_int_equal(send_queue_sges(&queue, index)[0].address, i);
		assert_int_equal(send_queue_sges(&queue, index)[1].length, 5);
	}
	send_queue_clear(&queue);
	assert_int_equal(send_queue_space(&queue), 4);
	send_queue_fini(&queue);
}

static void test_inline_bytes_stay_where_they_are(void **state)
{
	struct send_wqe wqe = {
		.opcode = RNIC_WR_SEND,
		.flags = RNIC_SEND_INLINE,
		.length = 5,
		.datagram = {.remote_qpn = 7, .remote_qkey = 8},
	};
	const uint8_t bytes[5] = "abcd";
	struct send_queue queue;

	(void)state;
	assert_int_equal(send_queue_init(&queue, NULL, 2, 1, 5), 0);
	send_queue_push(&queue, &wqe, NULL, bytes);
	assert_ptr_equal(send_queue_at(&queue, 0)->inline_bytes, bytes);
	assert_int_equal(send_queue_at(&queue, 0)->datagram.remote_qpn, 7);
	assert_int_equal(send_queue_at(&queue, 0)->datagram.remote_qkey, 8);
	send_queue_fini(&queue);
}

static void test_what_does_not_fit_has_no_operation(void **state)
{
	struct send_wqe inline_work = {
		.opcode = RNIC_WR_SEND, .flags = RNIC_SEND_INLINE, .length = 6};
	struct send_wqe sge_work = {.opcode = RNIC_WR_SEND, .sge_count = 2};
	struct rnic_sge sges[2] = {{0}};
	struct send_queue queue;

	(void)state;
	assert_int_equal(send_queue_init(&queue, NULL, 2, 1, 5), 0);
	send_queue_push(&queue, &inline_work, NULL, (const uint8_t *)"abcdef");
	send_queue_push(&queue, &sge_work, sges, NULL);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(wqe_operation(send_queue_at(&queue, i))->request,
				 RNIC_OPERATION_NONE);
	send_queue_fini(&queue);
}

/* Adds WQE `number`, whose second SGE says so too. */
static void push_number(struct send_queue *queue, uint64_t number)
{
	const struct send_wqe wqe = {.wr_id = number, .opcode = RNIC_WR_SEND, .sge_count = 2};
	const struct rnic_sge sges[2] = {{1, 2, 3}, {number, 5, 6}};

	send_queue_push(queue, &wqe, sges, NULL);
}

static void assert_numbers(const struct send_queue *queue, uint64_t first)
{
	for (uint32_t i = queue->retired; i != queue->posted; i++, first++) {
		assert_int_equal(send_queue_at(queue, i)->wr_id, first);
		assert_int_equal(send_queue_sges(queue, i)[1].address, first);
	}
}

/* Fills the queue, whose capacity is `capacity`, beginning with WQE 0. */
static void fill(struct send_queue *queue, uint32_t capacity)
{
	for (uint32_t i = 0; i < capacity; i++) {
		assert_int_equal(send_queue_space(queue), capacity - i);
		push_number(queue, i);
		assert_numbers(queue, 0);
	}
	assert_int_equal(send_queue_space(queue), 0);
}

static uint32_t free_rooms(const struct send_rooms *rooms)
{
	return rooms->large_count + rooms->small_count;
}

static void test_a_full_queue_borrows_a_room(void **state)
{
	struct send_rooms rooms;
	struct send_queue queue;

	(void)state;
	assert_int_equal(send_rooms_init(&rooms), 0);
	assert_int_equal(send_queue_init(&queue, &rooms, 100, 2, 0), 0);
	assert_int_equal(queue.slots, LIMIT_SEND_OWN_WQES);
	queue.posted = queue.next = queue.retired = UINT32_MAX - 20; /* cursors wrap */
	fill(&queue, 128);
	for (uint64_t i = 1; i < 128; i++) {
		send_queue_retire(&queue);
		assert_numbers(&queue, i);
	}
	assert_int_equal(free_rooms(&rooms), SEND_ROOMS - 1);
	send_queue_retire(&queue);
	assert_int_equal(free_rooms(&rooms), SEND_ROOMS);
	assert_int_equal(queue.slots, LIMIT_SEND_OWN_WQES);
	send_queue_fini(&queue);
	send_rooms_fini(&rooms);
}

static void test_a_short_queue_borrows_no_room(void **state)
{
	struct send_rooms rooms;
	struct send_queue queue;

	(void)state;
	assert_int_equal(send_rooms_init(&rooms), 0);
	assert_int_equal(send_queue_init(&queue, &rooms, LIMIT_SEND_OWN_WQES, 2, 0), 0);
	fill(&queue, LIMIT_SEND_OWN_WQES);
	assert_int_equal(free_rooms(&rooms), SEND_ROOMS);
	send_queue_fini(&queue);
	send_rooms_fini(&rooms);
}

/* Large rooms come first, then small ones, and then a queue goes on with its own slots. */
static void test_rooms_end(void **state)
{
	struct send_rooms rooms;
	struct send_queue queues[SEND_ROOMS + 1];

	(void)state;
	assert_int_equal(send_rooms_init(&rooms), 0);
	for (uint32_t i = 0; i <= SEND_ROOMS; i++) {
		const uint32_t capacity = i < LIMIT_SEND_LARGE_ROOMS ? 128
					  : i < SEND_ROOMS	     ? LIMIT_SEND_SMALL_ROOM_WQES
								     : LIMIT_SEND_OWN_WQES;

		assert_int_equal(send_queue_init(&queues[i], &rooms, 128, 2, 0), 0);
		fill(&queues[i], capacity);
	}
	send_queue_clear(&queues[1]); /* gives a large room back */
	assert_int_equal(send_queue_space(&queues[SEND_ROOMS]), 128 - LIMIT_SEND_OWN_WQES);
	push_number(&queues[SEND_ROOMS], LIMIT_SEND_OWN_WQES);
	assert_numbers(&queues[SEND_ROOMS], 0);
	for (uint32_t i = 0; i <= SEND_ROOMS; i++)
		send_queue_fini(&queues[i]);
	send_rooms_fini(&rooms);
}

static void test_slots_of_rooms(void **state)
{
	(void)state;
	assert_int_equal(send_rooms_most_slots(17, 1), 32);
	assert_int_equal(send_rooms_most_slots(128, 1), 128);
	assert_int_equal(send_rooms_most_slots(LIMIT_WR_DEPTH, 1), LIMIT_SEND_LARGE_ROOM_WQES);
	assert_int_equal(send_rooms_most_slots(LIMIT_WR_DEPTH, 0), LIMIT_SEND_LARGE_ROOM_WQES);
	assert_int_equal(send_rooms_most_slots(LIMIT_WR_DEPTH, 5), 256);
	assert_int_equal(send_rooms_most_slots(LIMIT_WR_DEPTH, LIMIT_SGES), 64);
}

static void test_empty_depth(void **state)
{
	struct send_queue queue;

	(void)state;
	assert_int_equal(send_queue_init(&queue, NULL, 0, 0, 0), 0);
	assert_int_equal(send_queue_space(&queue), 0);
	send_queue_fini(&queue);
}

static void test_kinds(void **state)
{
	static const struct {
		uint8_t opcode;
		uint8_t operation;
		uint8_t cqe;
		bool has_response;
	} rows[] = {
		{RNIC_WR_RDMA_WRITE, RNIC_OPERATION_WRITE, RNIC_WC_RDMA_WRITE, false},
		{RNIC_WR_RDMA_WRITE_WITH_IMM, RNIC_OPERATION_WRITE, RNIC_WC_RDMA_WRITE, false},
		{RNIC_WR_SEND, RNIC_OPERATION_SEND, RNIC_WC_SEND, false},
		{RNIC_WR_SEND_WITH_IMM, RNIC_OPERATION_SEND, RNIC_WC_SEND, false},
		{RNIC_WR_SEND_WITH_INVALIDATE, RNIC_OPERATION_SEND, RNIC_WC_SEND, false},
		{RNIC_WR_RDMA_READ, RNIC_OPERATION_READ_REQUEST, RNIC_WC_RDMA_READ, true},
		{RNIC_WR_ATOMIC_COMPARE_SWAP, RNIC_OPERATION_COMPARE_SWAP, RNIC_WC_COMPARE_SWAP,
		 true},
		{RNIC_WR_ATOMIC_FETCH_ADD, RNIC_OPERATION_FETCH_ADD, RNIC_WC_FETCH_ADD, true},
		{RNIC_WR_BIND_MW, RNIC_OPERATION_NONE, RNIC_WC_BIND_MW, false},
		{RNIC_WR_LOCAL_INVALIDATE, RNIC_OPERATION_NONE, RNIC_WC_LOCAL_INVALIDATE, false},
		{RNIC_WR_FLUSH, RNIC_OPERATION_FLUSH, RNIC_WC_FLUSH, true},
		{RNIC_WR_ATOMIC_WRITE, RNIC_OPERATION_ATOMIC_WRITE, RNIC_WC_ATOMIC_WRITE, true},
		{12, RNIC_OPERATION_NONE, RNIC_WC_SEND, false},
		{255, RNIC_OPERATION_NONE, RNIC_WC_SEND, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct send_wqe wqe = {.opcode = rows[i].opcode};

		assert_int_equal(wqe_operation(&wqe)->request, rows[i].operation);
		assert_int_equal(wqe_operation(&wqe)->completion, rows[i].cqe);
		assert_int_equal(wqe_operation(&wqe)->has_response, rows[i].has_response);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_space_and_order),
		cmocka_unit_test(test_inline_bytes_stay_where_they_are),
		cmocka_unit_test(test_what_does_not_fit_has_no_operation),
		cmocka_unit_test(test_a_full_queue_borrows_a_room),
		cmocka_unit_test(test_a_short_queue_borrows_no_room),
		cmocka_unit_test(test_rooms_end),
		cmocka_unit_test(test_slots_of_rooms),
		cmocka_unit_test(test_empty_depth),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
