/* SPDX-License-Identifier: MIT */
#include "lib/apis/connection/iw_queue.h"
#include "tests/unit/unit_test.h"

#define DEPTH 4

static int setup(void **state)
{
	static struct rnic_iw_queue queue;

	*state = &queue;
	return rnic_iw_queue_init(&queue, DEPTH);
}

static int teardown(void **state)
{
	rnic_iw_queue_fini(*state);
	return 0;
}

static void retire(struct rnic_iw_queue *queue, uint64_t sequence, enum rnic_iw_kind kind)
{
	struct rnic_iw_request request;

	assert_true(rnic_iw_queue_retire(queue, sequence, &request));
	assert_int_equal(request.kind, kind);
}

static void test_room_is_held_until_awaited(void **state)
{
	struct rnic_iw_queue *queue = *state;

	for (unsigned i = 0; i < DEPTH; i++) {
		assert_true(rnic_iw_queue_has_room(queue, RNIC_IW_TOLD));
		rnic_iw_queue_add(queue, RNIC_IW_TOLD, true);
	}
	assert_false(rnic_iw_queue_has_room(queue, RNIC_IW_TOLD));
	assert_int_equal(queue->told, DEPTH);
	retire(queue, 0, RNIC_IW_TOLD);
	rnic_iw_queue_push(queue, &(struct iw_wc){.wr_id = 0});
	assert_false(rnic_iw_queue_has_room(queue, RNIC_IW_SILENT));
	assert_int_equal(rnic_iw_queue_pop(queue).wr_id, 0);
	assert_true(rnic_iw_queue_has_room(queue, RNIC_IW_SILENT));
}

static void test_probes_have_room_of_their_own(void **state)
{
	struct rnic_iw_queue *queue = *state;

	for (unsigned i = 0; i < DEPTH; i++)
		rnic_iw_queue_add(queue, RNIC_IW_SILENT, false);
	for (unsigned i = 0; i < RNIC_IW_QUEUE_PROBES; i++) {
		assert_true(rnic_iw_queue_has_room(queue, RNIC_IW_PROBE));
		rnic_iw_queue_add(queue, RNIC_IW_PROBE, true);
	}
	assert_false(rnic_iw_queue_has_room(queue, RNIC_IW_PROBE));
	retire(queue, queue->posted - 1, RNIC_IW_PROBE);
	assert_int_equal(rnic_iw_queue_pending(queue), 0);
}

/* A completion covers all requests before it; the library refuses a completion of any other. */
static void test_retiring(void **state)
{
	struct rnic_iw_queue *queue = *state;
	struct rnic_iw_request request;

	assert_false(rnic_iw_queue_retire(queue, 0, &request));
	rnic_iw_queue_add(queue, RNIC_IW_SILENT, false);
	rnic_iw_queue_add(queue, RNIC_IW_TOLD, true);
	rnic_iw_queue_add(queue, RNIC_IW_ADVERT, true);
	assert_true(rnic_iw_queue_retire(queue, 1, &request));
	assert_int_equal(request.number, 1);
	assert_int_equal(queue->told, 0);
	assert_false(rnic_iw_queue_retire(queue, 1, &request));
	assert_false(rnic_iw_queue_retire(queue, 0, &request));
	assert_false(rnic_iw_queue_retire(queue, 3, &request));
	assert_int_equal(queue->adverts_awaited, 1);
	retire(queue, 2, RNIC_IW_ADVERT);
	assert_int_equal(queue->adverts_awaited, 0);
}

static void test_numbers_are_the_callers(void **state)
{
	static const enum rnic_iw_kind kinds[] = {RNIC_IW_ADVERT, RNIC_IW_TOLD, RNIC_IW_PROBE,
						  RNIC_IW_SILENT};
	static const uint64_t numbers[] = {0, 0, 1, 1};
	struct rnic_iw_queue *queue = *state;
	struct rnic_iw_request request;

	for (uint64_t i = 0; i < 4; i++) {
		rnic_iw_queue_add(queue, kinds[i], true);
		assert_true(rnic_iw_queue_retire(queue, i, &request));
		assert_int_equal(request.number, numbers[i]);
	}
	assert_int_equal(queue->numbered, 2);
}

/* Silent requests alone must not fill the queue for ever. */
static void test_some_silent_request_is_signaled(void **state)
{
	struct rnic_iw_queue *queue = *state;

	rnic_iw_queue_reset(queue);
	for (unsigned i = 0; i < 10 * DEPTH; i++) {
		const bool is_signaled = rnic_iw_queue_wants_signal(queue);

		rnic_iw_queue_add(queue, RNIC_IW_SILENT, is_signaled);
		assert_true(queue->posted - queue->signaled <= DEPTH / 2);
		if (is_signaled)
			retire(queue, queue->posted - 1, RNIC_IW_SILENT);
	}
}

static void test_one_request_deep(void **state)
{
	struct rnic_iw_queue queue;

	(void)state;
	assert_int_equal(rnic_iw_queue_init(&queue, 1), 0);
	for (uint64_t i = 0; i < 5; i++) {
		assert_true(rnic_iw_queue_has_room(&queue, RNIC_IW_SILENT));
		assert_true(rnic_iw_queue_wants_signal(&queue));
		rnic_iw_queue_add(&queue, RNIC_IW_SILENT, true);
		assert_false(rnic_iw_queue_has_room(&queue, RNIC_IW_SILENT));
		retire(&queue, i, RNIC_IW_SILENT);
	}
	rnic_iw_queue_fini(&queue);
}

static void test_order_is_kept_around_the_end(void **state)
{
	struct rnic_iw_queue *queue = *state;
	uint64_t in = 0, out = 0;

	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 1 + round % DEPTH; i++) {
			const struct rnic_iw_advert advert = {.rmr.address = in};

			rnic_iw_queue_push(queue, &(struct iw_wc){.wr_id = in++});
			rnic_iw_queue_push_advert(queue, &advert);
		}
		while (queue->ready_count > 0) {
			assert_int_equal(rnic_iw_queue_pop_advert(queue).rmr.address, out);
			assert_int_equal(rnic_iw_queue_pop(queue).wr_id, out++);
		}
		assert_int_equal(queue->advert_count, 0);
	}
}

static void test_reset_forgets(void **state)
{
	struct rnic_iw_queue *queue = *state;

	rnic_iw_queue_add(queue, RNIC_IW_TOLD, true);
	rnic_iw_queue_add(queue, RNIC_IW_ADVERT, true);
	retire(queue, 0, RNIC_IW_TOLD);
	rnic_iw_queue_push(queue, &(struct iw_wc){.wr_id = 0});
	rnic_iw_queue_reset(queue);
	assert_int_equal(rnic_iw_queue_pending(queue), 0);
	assert_int_equal(queue->told + queue->adverts_awaited + queue->ready_count, 0);
	assert_int_equal(queue->depth, DEPTH);
	assert_true(rnic_iw_queue_has_room(queue, RNIC_IW_TOLD));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_room_is_held_until_awaited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_probes_have_room_of_their_own, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_retiring, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers_are_the_callers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_some_silent_request_is_signaled, setup,
						teardown),
		cmocka_unit_test(test_one_request_deep),
		cmocka_unit_test_setup_teardown(test_order_is_kept_around_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset_forgets, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
