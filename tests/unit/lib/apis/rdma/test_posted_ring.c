/* SPDX-License-Identifier: MIT */
#include "lib/apis/rdma/posted_ring.h"
#include "tests/unit/unit_test.h"

#include <limits.h>

#define DEPTH 4

static int setup(void **state)
{
	static struct rnic_posted_ring ring;

	*state = &ring;
	return rnic_posted_ring_init(&ring, DEPTH);
}

static int teardown(void **state)
{
	rnic_posted_ring_fini(*state);
	return 0;
}

static void push(struct rnic_posted_ring *ring, int wr_id)
{
	assert_true(rnic_posted_ring_has_room(ring, wr_id));
	rnic_posted_ring_push(ring, (struct rnic_posted){.wr_id = wr_id});
}

static void pop(struct rnic_posted_ring *ring, uint64_t sequence, int wr_id)
{
	struct rnic_posted posted;

	assert_true(rnic_posted_ring_try_pop(ring, sequence, &posted));
	assert_int_equal(posted.wr_id, wr_id);
}

static void test_gives_back_in_order_round_and_round(void **state)
{
	struct rnic_posted_ring *ring = *state;

	for (int i = 0; i < 3 * DEPTH; i++) {
		push(ring, 100 + i);
		if (i > 0)
			pop(ring, (uint64_t)i - 1, 99 + i);
	}
	pop(ring, 3 * DEPTH - 1, 99 + 3 * DEPTH);
	assert_true(rnic_posted_ring_is_empty(ring));
}

static void test_holds_as_many_as_it_is_deep_and_a_probe(void **state)
{
	struct rnic_posted_ring *ring = *state;

	push(ring, RNIC_PROBE_WR_ID);
	assert_false(rnic_posted_ring_has_room(ring, RNIC_PROBE_WR_ID));
	for (int i = 0; i < DEPTH; i++)
		push(ring, i);
	assert_false(rnic_posted_ring_has_room(ring, DEPTH));
	pop(ring, 0, RNIC_PROBE_WR_ID);
	assert_false(rnic_posted_ring_has_room(ring, DEPTH));
	push(ring, RNIC_PROBE_WR_ID);
	pop(ring, 1, 0);
	push(ring, DEPTH);
}

static void test_believes_only_the_oldest(void **state)
{
	struct rnic_posted_ring *ring = *state;
	struct rnic_posted posted;

	assert_false(rnic_posted_ring_try_pop(ring, 0, &posted));
	push(ring, 7);
	push(ring, 8);
	assert_false(rnic_posted_ring_try_pop(ring, 1, &posted));
	assert_false(rnic_posted_ring_try_pop(ring, 2, &posted));
	assert_false(rnic_posted_ring_try_pop(ring, UINT64_MAX, &posted));
	pop(ring, 0, 7);
	assert_false(rnic_posted_ring_try_pop(ring, 0, &posted));
	pop(ring, 1, 8);
}

static void test_request_numbers_are_never_negative(void **state)
{
	(void)state;
	assert_int_equal(rnic_wr_id_after(0), 1);
	assert_int_equal(rnic_wr_id_after(INT_MAX - 1), INT_MAX);
	assert_int_equal(rnic_wr_id_after(INT_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_gives_back_in_order_round_and_round, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_holds_as_many_as_it_is_deep_and_a_probe, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_believes_only_the_oldest, setup, teardown),
		cmocka_unit_test(test_request_numbers_are_never_negative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
