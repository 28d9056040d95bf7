/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/engine/engine_fixture.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

static void test_shared_by_destination(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_gid other_gid = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 9});
	struct peer_window *same = peer_window_get(&fixture->engine, &fixture->peer_gid);
	struct peer_window *other = peer_window_get(&fixture->engine, &other_gid);

	(void)state;
	assert_ptr_equal(same, fixture->qp->peer_window);
	assert_ptr_not_equal(other, same);
	peer_window_put(same);
	peer_window_put(other);
	fixture_destroy(fixture);
}

static void test_empty_path_always_has_room(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct peer_window *window = fixture->qp->peer_window;

	(void)state;
	assert_true(peer_window_has_room(window, fixture->qp, 4 * LIMIT_PATH_WINDOW_BYTES));
	peer_window_reserve(window, fixture->qp, LIMIT_PATH_WINDOW_BYTES - 1);
	assert_true(peer_window_has_room(window, fixture->qp, 1));
	assert_false(peer_window_has_room(window, fixture->qp, 2));
	peer_window_release(window, LIMIT_PATH_WINDOW_BYTES - 1, true);
	fixture_destroy(fixture);
}

/* Waiting QPs are served one by one in order, and no QP overtakes them. */
static void test_order_of_waiting(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct peer_window *window = fixture->qp->peer_window;
	struct qp *first = fixture_create_qp(fixture, &fixture_defaults);
	struct qp *second = fixture_create_qp(fixture, &fixture_defaults);

	(void)state;
	assert_int_equal(fixture_transmit_all(fixture), 0); /* no QP is ready any more */
	peer_window_reserve(window, fixture->qp, LIMIT_PATH_WINDOW_BYTES);
	peer_window_wait(window, first, 5000);
	peer_window_wait(window, second, 1000);
	peer_window_release(window, 2000, true);
	assert_null(window->turn); /* the first needs more, and the second does not overtake */
	assert_false(peer_window_has_room(window, second, 1000));
	assert_false(peer_window_has_room(window, fixture->qp, 100));
	peer_window_release(window, 3000, true);
	assert_ptr_equal(window->turn, first);
	assert_true(list_is_linked(&first->ready_node));
	assert_true(peer_window_has_room(window, first, 5000));
	peer_window_reserve(window, first, 4000);
	peer_window_leave(window, first); /* it had no more to send */
	assert_ptr_equal(window->turn, second);
	peer_window_leave(window, second);
	assert_null(window->turn);
	peer_window_release(window, window->in_flight_bytes, false);
	qp_destroy(first);
	qp_destroy(second);
	fixture_destroy(fixture);
}

/* The first in line needs less than it has said: no QP behind waits for nothing. */
static void test_who_needs_less_passes_the_turn(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct peer_window *window = fixture->qp->peer_window;
	struct qp *first = fixture_create_qp(fixture, &fixture_defaults);
	struct qp *second = fixture_create_qp(fixture, &fixture_defaults);

	(void)state;
	assert_int_equal(fixture_transmit_all(fixture), 0);
	peer_window_reserve(window, fixture->qp, LIMIT_PATH_WINDOW_BYTES - 3000);
	peer_window_wait(window, first, 5000);
	peer_window_wait(window, second, 1000);
	assert_null(window->turn);
	assert_true(peer_window_has_room(window, first, 2000));
	peer_window_reserve(window, first, 2000);
	peer_window_leave(window, first);
	assert_ptr_equal(window->turn, second);
	peer_window_leave(window, second);
	peer_window_release(window, window->in_flight_bytes, false);
	qp_destroy(first);
	qp_destroy(second);
	fixture_destroy(fixture);
}

/* A measure that shows a greater path makes room: who waits goes on without an acknowledgement. */
static void test_a_measure_passes_the_turn(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct peer_window *window = fixture->qp->peer_window;
	struct qp *first = fixture_create_qp(fixture, &fixture_defaults);
	const struct path_departure departure =
		path_model_depart(&window->model, fixture->engine.now_ns);

	(void)state;
	assert_int_equal(fixture_transmit_all(fixture), 0);
	peer_window_reserve(window, fixture->qp, LIMIT_PATH_WINDOW_BYTES);
	peer_window_wait(window, first, 5000);
	assert_null(window->turn);
	fixture->engine.now_ns += 10000000;
	path_model_deliver(&window->model, 10000000, fixture->engine.now_ns);
	peer_window_measure(window, &departure);
	assert_ptr_equal(window->turn, first);
	peer_window_leave(window, first);
	peer_window_release(window, window->in_flight_bytes, false);
	qp_destroy(first);
	fixture_destroy(fixture);
}

static void test_destroyed_while_waiting(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct peer_window *window = fixture->qp->peer_window;
	struct qp *first = fixture_create_qp(fixture, &fixture_defaults);
	struct qp *second = fixture_create_qp(fixture, &fixture_defaults);

	(void)state;
	peer_window_reserve(window, fixture->qp, LIMIT_PATH_WINDOW_BYTES);
	peer_window_wait(window, first, LIMIT_PATH_WINDOW_BYTES);
	peer_window_wait(window, second, 1000);
	peer_window_release(window, 1000, true);
	assert_null(window->turn);
	qp_destroy(first);
	assert_ptr_equal(window->turn, second);
	qp_destroy(second);
	assert_null(window->turn);
	peer_window_release(window, window->in_flight_bytes, false);
	fixture_destroy(fixture);
}

static void test_reduce_and_grow(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct peer_window *window = fixture->qp->peer_window;
	uint32_t whole_bytes = LIMIT_PATH_WINDOW_BYTES;

	(void)state;
	fixture->engine.now_ns = fixture->now_ns;
	window->model.least_ns = 50000;
	peer_window_reduce(&fixture->engine, window);
	assert_int_equal(window->queue_bytes, whole_bytes / 2);
	peer_window_reduce(&fixture->engine, window); /* the same round trip */
	assert_int_equal(window->queue_bytes, whole_bytes / 2);
	for (uint32_t i = 0; i < 20; i++) {
		fixture->engine.now_ns += 10000000;
		peer_window_reduce(&fixture->engine, window);
	}
	assert_int_equal(window->queue_bytes, LIMIT_PATH_WINDOW_BYTES_LEAST);
	peer_window_reserve(window, fixture->qp, LIMIT_PATH_WINDOW_BYTES_LEAST);
	peer_window_release(window, LIMIT_PATH_WINDOW_BYTES_LEAST,
			    false); /* lost: no reason to grow */
	assert_int_equal(window->queue_bytes, LIMIT_PATH_WINDOW_BYTES_LEAST);
	peer_window_reserve(window, fixture->qp, LIMIT_PATH_WINDOW_BYTES_LEAST);
	peer_window_release(window, LIMIT_PATH_WINDOW_BYTES_LEAST, true);
	assert_true(window->queue_bytes > LIMIT_PATH_WINDOW_BYTES_LEAST);
	for (uint32_t i = 0; i < 100000; i++) {
		peer_window_reserve(window, fixture->qp, 16384);
		peer_window_release(window, 16384, true);
	}
	assert_int_equal(window->queue_bytes, whole_bytes);
	fixture_destroy(fixture);
}

/* `bytes` leave at once, of which `acknowledged` arrive. */
static void pass_burst(struct engine_fixture *fixture, struct peer_window *window, uint32_t bytes,
		       uint32_t acknowledged)
{
	peer_window_reserve(window, fixture->qp, bytes);
	peer_window_release(window, acknowledged, true);
	peer_window_release(window, window->in_flight_bytes, false);
}

/* Nobody tells what the peer's buffer and the queues take: bursts grow as such bursts arrive. */
static void test_a_path_opens(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	const struct rnic_gid gid = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 9});
	struct peer_window *window = peer_window_get(&fixture->engine, &gid);
	uint32_t bytes = LIMIT_PATH_WINDOW_BYTES_FIRST;

	(void)state;
	assert_int_equal(peer_window_bytes(window), bytes);
	for (uint32_t i = 0; i < 100; i++)
		pass_burst(fixture, window, bytes / 4, bytes / 4);
	assert_int_equal(peer_window_bytes(window), bytes); /* none was greater */
	for (; bytes < LIMIT_PATH_WINDOW_BYTES; bytes *= 2) {
		assert_int_equal(peer_window_bytes(window), bytes);
		pass_burst(fixture, window, bytes, bytes);
	}
	assert_int_equal(peer_window_bytes(window), LIMIT_PATH_WINDOW_BYTES);
	peer_window_put(window);
	fixture_destroy(fixture);
}

/* A loss ends the doubling; a timeout before the first measure says nothing of the path. */
static void test_a_loss_ends_the_opening(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	const struct rnic_gid gid = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 9});
	struct peer_window *window = peer_window_get(&fixture->engine, &gid);
	uint32_t bytes = LIMIT_PATH_WINDOW_BYTES_FIRST / 2;

	(void)state;
	fixture->engine.now_ns = fixture->now_ns;
	peer_window_reduce(&fixture->engine, window);
	assert_int_equal(peer_window_bytes(window), bytes);
	pass_burst(fixture, window, bytes, bytes);
	assert_int_equal(peer_window_bytes(window), 2 * bytes);
	window->model.least_ns = 100000;
	fixture->engine.now_ns += 10000000;
	peer_window_reduce(&fixture->engine, window);
	pass_burst(fixture, window, bytes, bytes);
	assert_in_range(peer_window_bytes(window), bytes, bytes + 5000);
	peer_window_put(window);
	fixture_destroy(fixture);
}

/* Of a path of 10 ms that carries 100 MB/s: 1,000,000 B. */
static void make_long(struct peer_window *window)
{
	window->model.rate = window->model.rates[0] = 100000000;
	window->model.least_ns = window->model.smoothed_ns = 10000000;
	window->model.least_at_ns = window->engine->now_ns;
	window->model.is_started = true;
}

static void test_a_long_path_adds_what_it_holds(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct peer_window *window = fixture->qp->peer_window;

	(void)state;
	assert_int_equal(peer_window_bytes(window), LIMIT_PATH_WINDOW_BYTES);
	make_long(window);
	assert_int_equal(peer_window_bytes(window), LIMIT_PATH_WINDOW_BYTES + 1250000);
	peer_window_reduce(&fixture->engine, window);
	assert_in_range(peer_window_bytes(window), LIMIT_PATH_WINDOW_BYTES / 2 + 960000,
			LIMIT_PATH_WINDOW_BYTES / 2 + 1000000);
	fixture_destroy(fixture);
}

/* A quarter of what a long path holds may wait, or what it delivers while a process waits. */
static void test_queues_of_a_long_path(void **state)
{
	static const struct {
		uint64_t rate, least_ns;
		uint32_t more_bytes;
	} cases[] = {
		{1000000000, 200000, 0}, /* short */
		{1000000000, 500000, 2000000},
		{100000000, 10000000, 250000},
		{100000000, 2000000, 200000},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct engine_fixture *fixture = fixture_create(&fixture_defaults);
		struct peer_window *window = fixture->qp->peer_window;

		make_long(window);
		window->model.rate = window->model.rates[0] = cases[i].rate;
		window->model.least_ns = window->model.smoothed_ns = cases[i].least_ns;
		for (uint32_t bursts = 0; bursts < 20; bursts++)
			pass_burst(fixture, window, peer_window_bytes(window),
				   peer_window_bytes(window));
		assert_int_equal(window->queue_bytes,
				 LIMIT_PATH_WINDOW_BYTES + cases[i].more_bytes);
		fixture_destroy(fixture);
	}
}

/* A window that is not full holds packets back by its pace, and the timer lets a batch leave. */
static void test_a_long_path_is_paced(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct peer_window *window = fixture->qp->peer_window;
	uint32_t sent = 0;

	(void)state;
	fixture->engine.now_ns += 20000000;
	make_long(window);
	assert_true(peer_window_is_on_pace(window));
	for (; peer_window_is_on_pace(window); sent += 4096)
		peer_window_reserve(window, fixture->qp, 4096);
	assert_true(sent >= LIMIT_PATH_WINDOW_BYTES / 2);
	assert_true(sent < LIMIT_PATH_WINDOW_BYTES);
	assert_true(peer_window_has_room(window, fixture->qp, 4096));
	peer_window_wait(window, fixture->qp, 4096);
	assert_null(window->turn);
	assert_true(timer_is_armed(&window->timer));
	fixture->engine.now_ns = window->timer.deadline_ns;
	timer_heap_disarm(&fixture->engine.window_timers, &window->timer);
	peer_window_expired(window);
	assert_ptr_equal(window->turn, fixture->qp);
	peer_window_leave(window, fixture->qp);
	peer_window_release(window, sent, true);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared_by_destination),
		cmocka_unit_test(test_empty_path_always_has_room),
		cmocka_unit_test(test_order_of_waiting),
		cmocka_unit_test(test_who_needs_less_passes_the_turn),
		cmocka_unit_test(test_a_measure_passes_the_turn),
		cmocka_unit_test(test_destroyed_while_waiting),
		cmocka_unit_test(test_reduce_and_grow),
		cmocka_unit_test(test_a_path_opens),
		cmocka_unit_test(test_a_loss_ends_the_opening),
		cmocka_unit_test(test_a_long_path_adds_what_it_holds),
		cmocka_unit_test(test_queues_of_a_long_path),
		cmocka_unit_test(test_a_long_path_is_paced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
