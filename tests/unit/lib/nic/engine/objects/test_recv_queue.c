/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/recv_queue.h"

#include "lib/nic/engine/engine.h"
#include "tests/sim/recv_room_copy.h"
#include "tests/unit/unit_test.h"

/* A client's ring that holds `posted` entries, numbered from 1. */
struct ring {
	uint64_t posted;
	uint64_t handed_over;
	uint32_t refills;
};

static uint32_t refill(void *context, const struct recv_queue *queue, const struct recv_room *room)
{
	struct ring *ring = context;
	uint32_t filled = 0;

	ring->refills++;
	assert_int_equal(queue->pushed, queue->taken);
	while (filled < room->count && ring->handed_over < ring->posted) {
		uint64_t wr_id = ++ring->handed_over;
		struct rnic_sge sges[2] = {{.address = wr_id * 100, .length = 3, .lkey = 7},
					   {.address = wr_id * 100 + 50, .length = 4, .lkey = 8}};
		struct recv_wqe wqe = {.wr_id = wr_id, .sge_count = room->sge_stride, .length = 7};

		recv_room_copy(room, filled++, &wqe, sges);
	}
	return filled;
}

static const struct engine_sink sink = {.refill = refill};

static void entries_come_in_order_with_their_sges(void **state)
{
	struct ring ring = {.posted = 100};
	struct engine engine = {.config = {.sink = &sink, .sink_context = &ring}};
	struct recv_queue queue;
	struct recv_wqe wqe;
	struct rnic_sge sges[2];

	(void)state;
	assert_int_equal(recv_queue_init(&queue, 2), 0);
	for (uint64_t wr_id = 1; wr_id <= 100; wr_id++) {
		assert_true(recv_queue_take(&engine, &queue, &wqe, sges));
		assert_int_equal(wqe.wr_id, wr_id);
		assert_int_equal(sges[0].address, wr_id * 100);
		assert_int_equal(sges[1].address, wr_id * 100 + 50);
	}
	assert_int_equal(ring.refills, (100 + LIMIT_RECV_PREFETCH - 1) / LIMIT_RECV_PREFETCH);
	assert_false(recv_queue_take(&engine, &queue, &wqe, sges));
	recv_queue_fini(&queue);
}

static void a_look_takes_nothing(void **state)
{
	struct ring ring = {.posted = 1};
	struct engine engine = {.config = {.sink = &sink, .sink_context = &ring}};
	const struct rnic_sge *sges;
	struct rnic_sge taken[2];
	struct recv_queue queue;
	struct recv_wqe wqe;

	(void)state;
	assert_int_equal(recv_queue_init(&queue, 2), 0);
	assert_int_equal(recv_queue_peek(&engine, &queue, &sges)->wr_id, 1);
	assert_int_equal(sges[1].lkey, 8);
	assert_int_equal(recv_queue_peek(&engine, &queue, &sges)->wr_id, 1);
	assert_true(recv_queue_take(&engine, &queue, &wqe, taken));
	assert_null(recv_queue_peek(&engine, &queue, &sges));
	recv_queue_fini(&queue);
}

/* An empty queue asks each time and finds entries that the client has posted meanwhile. */
static void an_entry_posted_late_is_found(void **state)
{
	struct ring ring = {0};
	struct engine engine = {.config = {.sink = &sink, .sink_context = &ring}};
	struct rnic_sge sges[2];
	struct recv_queue queue;
	struct recv_wqe wqe;

	(void)state;
	assert_int_equal(recv_queue_init(&queue, 2), 0);
	assert_false(recv_queue_take(&engine, &queue, &wqe, sges));
	ring.posted = 1;
	assert_true(recv_queue_take(&engine, &queue, &wqe, sges));
	assert_int_equal(wqe.wr_id, 1);
	recv_queue_fini(&queue);
}

static void clearing_forgets_all(void **state)
{
	struct ring ring = {.posted = 5};
	struct engine engine = {.config = {.sink = &sink, .sink_context = &ring}};
	struct rnic_sge sges[2];
	struct recv_queue queue;
	struct recv_wqe wqe;

	(void)state;
	assert_int_equal(recv_queue_init(&queue, 2), 0);
	assert_true(recv_queue_take(&engine, &queue, &wqe, sges));
	queue.retired = 1;
	recv_queue_clear(&queue);
	assert_int_equal(queue.retired, 0);
	assert_false(recv_queue_take(&engine, &queue, &wqe, sges));
	recv_queue_fini(&queue);
}

static void entries_without_sges_work(void **state)
{
	struct ring ring = {.posted = 1};
	struct engine engine = {.config = {.sink = &sink, .sink_context = &ring}};
	struct recv_queue queue;
	struct recv_wqe wqe;

	(void)state;
	assert_int_equal(recv_queue_init(&queue, 0), 0);
	assert_true(recv_queue_take(&engine, &queue, &wqe, NULL));
	assert_int_equal(wqe.wr_id, 1);
	recv_queue_fini(&queue);
}

/*
 * The room ends with the array, wherever the queue stands in it, and entries that come back fit in
 * front of those of a full refill.
 */
static void a_refill_begins_anywhere(void **state)
{
	struct ring ring = {0};
	struct engine engine = {.config = {.sink = &sink, .sink_context = &ring}};
	struct recv_queue queue;
	struct recv_wqe wqe;
	struct rnic_sge sges[2];

	(void)state;
	assert_int_equal(recv_queue_init(&queue, 2), 0);
	assert_int_equal(recv_queue_reserve(&queue, 1), 0);
	for (uint32_t burst = 1; burst <= 3 * LIMIT_RECV_PREFETCH; burst++) {
		ring.posted += burst;
		while (ring.handed_over < ring.posted || queue.pushed != queue.taken) {
			const uint64_t wr_id = ring.handed_over - (queue.pushed - queue.taken) + 1;

			for (uint32_t i = 0; i < 2; i++) {
				assert_true(recv_queue_take(&engine, &queue, &wqe, sges));
				assert_int_equal(wqe.wr_id, wr_id);
				assert_int_equal(sges[1].address, wr_id * 100 + 50);
				if (i == 0)
					recv_queue_give_back(&queue, &wqe, sges);
			}
		}
	}
	assert_false(recv_queue_take(&engine, &queue, &wqe, sges));
	recv_queue_fini(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_in_order_with_their_sges),
		cmocka_unit_test(a_look_takes_nothing),
		cmocka_unit_test(an_entry_posted_late_is_found),
		cmocka_unit_test(clearing_forgets_all),
		cmocka_unit_test(entries_without_sges_work),
		cmocka_unit_test(a_refill_begins_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
