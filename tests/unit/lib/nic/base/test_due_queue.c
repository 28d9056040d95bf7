/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/due_queue.h"

#include "lib/nic/base/prng.h"
#include "tests/unit/unit_test.h"

#include <stdbool.h>

#define ITEMS 300

struct item {
	uint64_t due_ns;
	bool is_waiting;
};

static void test_empty(void **state)
{
	struct due_queue queue = {0};

	(void)state;
	assert_null(due_queue_first(&queue));
	assert_true(due_queue_earliest_ns(&queue) == UINT64_MAX);
	due_queue_fini(&queue);
}

static void test_equal_ones_in_order_of_the_pushes(void **state)
{
	struct due_queue queue = {0};
	struct item items[ITEMS];

	(void)state;
	assert_int_equal(due_queue_reserve(&queue, ITEMS), 0);
	for (uint32_t i = 0; i < ITEMS; i++)
		due_queue_push(&queue, i % 2 == 0 ? 20 : 10, &items[i]);
	for (uint32_t i = 1; i < ITEMS; i += 2)
		assert_ptr_equal(due_queue_pop(&queue), &items[i]);
	assert_true(due_queue_earliest_ns(&queue) == 20);
	for (uint32_t i = 0; i < ITEMS; i += 2)
		assert_ptr_equal(due_queue_pop(&queue), &items[i]);
	assert_null(due_queue_first(&queue));
	due_queue_fini(&queue);
}

static struct item *first_of(struct item *items, uint32_t count)
{
	struct item *first = NULL;

	for (uint32_t i = 0; i < count; i++) {
		if (items[i].is_waiting && (first == NULL || items[i].due_ns < first->due_ns))
			first = &items[i];
	}
	return first;
}

/* Any mix of pushes and pops keeps the order that a scan finds. */
static void test_against_a_scan(void **state)
{
	static struct item items[20 * ITEMS];
	struct due_queue queue = {0};
	struct prng prng;
	uint32_t pushed = 0, waiting = 0;

	(void)state;
	prng_init(&prng, 3);
	while (pushed < 20 * ITEMS || waiting != 0) {
		struct item *first = first_of(items, pushed);

		assert_ptr_equal(due_queue_first(&queue), first);
		assert_true(due_queue_earliest_ns(&queue) ==
			    (first != NULL ? first->due_ns : UINT64_MAX));
		if (pushed < 20 * ITEMS && (waiting == 0 || prng_below(&prng, 20) < 11)) {
			struct item *item = &items[pushed++];

			*item = (struct item){prng_below(&prng, 40), true};
			assert_int_equal(due_queue_reserve(&queue, ++waiting), 0);
			due_queue_push(&queue, item->due_ns, item);
		} else {
			waiting--;
			first->is_waiting = false;
			assert_ptr_equal(due_queue_pop(&queue), first);
		}
	}
	due_queue_fini(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_equal_ones_in_order_of_the_pushes),
		cmocka_unit_test(test_against_a_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
