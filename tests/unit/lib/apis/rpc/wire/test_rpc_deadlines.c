/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_deadlines.h"
#include "lib/apis/rpc/wire/rpc_sender.h"

#include "lib/nic/base/prng.h"
#include "tests/unit/unit_test.h"

#define ITEMS 64

static int set_up(void **state)
{
	struct rpc_deadlines *deadlines = malloc(sizeof(*deadlines));
	void *memory = malloc(rpc_deadlines_memory_bytes(ITEMS));

	assert_true(deadlines != NULL && memory != NULL);
	rpc_deadlines_init(deadlines, ITEMS, memory);
	*state = deadlines;
	return 0;
}

static int tear_down(void **state)
{
	struct rpc_deadlines *deadlines = *state;

	free(deadlines->heap);
	free(deadlines);
	return 0;
}

static void test_nothing_is_due(void **state)
{
	uint32_t item;

	assert_true(rpc_deadlines_next_ns(*state) == RPC_NEVER);
	assert_false(rpc_deadlines_take(*state, RPC_NEVER, &item));
	rpc_deadlines_set(*state, 3, RPC_NEVER); /* as it is */
	rpc_deadlines_set(*state, 3, 10);
	assert_false(rpc_deadlines_take(*state, 9, &item));
}

static void test_earliest_first(void **state)
{
	static const uint32_t order[] = {5, 1, 7, 2};
	uint32_t item;

	rpc_deadlines_set(*state, 1, 20);
	rpc_deadlines_set(*state, 7, 30);
	rpc_deadlines_set(*state, 2, 5);
	rpc_deadlines_set(*state, 5, 10);
	rpc_deadlines_set(*state, 2, 40); /* later than it was */
	assert_true(rpc_deadlines_next_ns(*state) == 10);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		assert_true(rpc_deadlines_take(*state, 40, &item));
		assert_int_equal(item, order[i]);
	}
	assert_false(rpc_deadlines_take(*state, 40, &item));
}

static uint64_t least_of(const uint64_t *times)
{
	uint64_t least = RPC_NEVER;

	for (uint32_t i = 0; i < ITEMS; i++)
		if (times[i] < least)
			least = times[i];
	return least;
}

/* Against a plain array, over many changes. */
static void test_like_an_array(void **state)
{
	uint64_t times[ITEMS];
	struct prng prng;
	uint32_t item;

	prng_init(&prng, 1);
	for (uint32_t i = 0; i < ITEMS; i++)
		times[i] = RPC_NEVER;
	for (int step = 0; step < 20000; step++) {
		uint32_t changed = (uint32_t)prng_below(&prng, ITEMS);
		uint64_t now_ns = prng_below(&prng, 200);

		times[changed] = prng_below(&prng, 4) == 0 ? RPC_NEVER : prng_below(&prng, 1000);
		rpc_deadlines_set(*state, changed, times[changed]);
		assert_true(rpc_deadlines_next_ns(*state) == least_of(times));
		if (rpc_deadlines_take(*state, now_ns, &item)) {
			assert_true(times[item] <= now_ns && times[item] == least_of(times));
			times[item] = RPC_NEVER;
		} else {
			assert_true(least_of(times) > now_ns);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_is_due, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_earliest_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_like_an_array, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
