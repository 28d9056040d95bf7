/* SPDX-License-Identifier: MIT */
#include "engine_fixture.h"

#include "wire/gid.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_shared_by_destination(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_gid other_gid = rnic_gid_from_ipv4((const uint8_t[]){192, 0, 2, 9});
	struct path *same = path_get(&fixture->engine, &fixture->peer_gid);
	struct path *other = path_get(&fixture->engine, &other_gid);

	(void)state;
	assert_ptr_equal(same, fixture->qp->path);
	assert_ptr_not_equal(other, same);
	path_put(same);
	path_put(other);
	fixture_destroy(fixture);
}

static void test_empty_path_always_has_room(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct path *path = fixture->qp->path;

	(void)state;
	assert_true(path_has_room(path, fixture->qp, 4 * LIMIT_PATH_WINDOW_BYTES));
	path_reserve(path, fixture->qp, LIMIT_PATH_WINDOW_BYTES - 1);
	assert_true(path_has_room(path, fixture->qp, 1));
	assert_false(path_has_room(path, fixture->qp, 2));
	path_release(path, LIMIT_PATH_WINDOW_BYTES - 1, true);
	fixture_destroy(fixture);
}

/* Those that wait are served one by one in order, and nobody overtakes them. */
static void test_order_of_waiting(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct path *path = fixture->qp->path;
	struct qp *first = fixture_create_qp(fixture, &fixture_defaults);
	struct qp *second = fixture_create_qp(fixture, &fixture_defaults);

	(void)state;
	assert_int_equal(fixture_transmit_all(fixture), 0); /* nobody is ready any more */
	path_reserve(path, fixture->qp, LIMIT_PATH_WINDOW_BYTES);
	path_wait(path, first, 5000);
	path_wait(path, second, 1000);
	path_release(path, 2000, true);
	assert_null(path->turn); /* the first needs more, and the second does not overtake */
	assert_false(path_has_room(path, second, 1000));
	assert_false(path_has_room(path, fixture->qp, 100));
	path_release(path, 3000, true);
	assert_ptr_equal(path->turn, first);
	assert_true(list_is_linked(&first->ready_node));
	assert_true(path_has_room(path, first, 5000));
	path_reserve(path, first, 4000);
	path_leave(path, first); /* it had no more to send */
	assert_ptr_equal(path->turn, second);
	path_leave(path, second);
	assert_null(path->turn);
	path_release(path, path->in_flight_bytes, false);
	qp_destroy(first);
	qp_destroy(second);
	fixture_destroy(fixture);
}

static void test_destroyed_while_waiting(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct path *path = fixture->qp->path;
	struct qp *first = fixture_create_qp(fixture, &fixture_defaults);
	struct qp *second = fixture_create_qp(fixture, &fixture_defaults);

	(void)state;
	path_reserve(path, fixture->qp, LIMIT_PATH_WINDOW_BYTES);
	path_wait(path, first, LIMIT_PATH_WINDOW_BYTES);
	path_wait(path, second, 1000);
	path_release(path, 1000, true);
	assert_null(path->turn);
	qp_destroy(first);
	assert_ptr_equal(path->turn, second);
	qp_destroy(second);
	assert_null(path->turn);
	path_release(path, path->in_flight_bytes, false);
	fixture_destroy(fixture);
}

static void test_reduce_and_grow(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct path *path = fixture->qp->path;
	uint32_t window = LIMIT_PATH_WINDOW_BYTES;

	(void)state;
	fixture->engine.now_ns = fixture->now_ns;
	path_reduce(&fixture->engine, path);
	assert_int_equal(path->window_bytes, window / 2);
	path_reduce(&fixture->engine, path); /* the same round trip */
	assert_int_equal(path->window_bytes, window / 2);
	for (uint32_t i = 0; i < 20; i++) {
		fixture->engine.now_ns += 10000000;
		path_reduce(&fixture->engine, path);
	}
	assert_int_equal(path->window_bytes, LIMIT_PATH_WINDOW_BYTES_LEAST);
	path_reserve(path, fixture->qp, LIMIT_PATH_WINDOW_BYTES_LEAST);
	path_release(path, LIMIT_PATH_WINDOW_BYTES_LEAST, false); /* lost: no reason to grow */
	assert_int_equal(path->window_bytes, LIMIT_PATH_WINDOW_BYTES_LEAST);
	path_reserve(path, fixture->qp, LIMIT_PATH_WINDOW_BYTES_LEAST);
	path_release(path, LIMIT_PATH_WINDOW_BYTES_LEAST, true);
	assert_true(path->window_bytes > LIMIT_PATH_WINDOW_BYTES_LEAST);
	for (uint32_t i = 0; i < 100000; i++) {
		path_reserve(path, fixture->qp, 16384);
		path_release(path, 16384, true);
	}
	assert_int_equal(path->window_bytes, window);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared_by_destination),
		cmocka_unit_test(test_empty_path_always_has_room),
		cmocka_unit_test(test_order_of_waiting),
		cmocka_unit_test(test_destroyed_while_waiting),
		cmocka_unit_test(test_reduce_and_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
