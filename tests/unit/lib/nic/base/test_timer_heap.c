/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/timer_heap.h"

#include "lib/nic/base/prng.h"
#include "tests/unit/unit_test.h"

#define TIMERS 200

static void test_order_of_expiry(void **state)
{
	struct timer timers[TIMERS] = {{0}};
	struct timer_heap heap;
	struct timer *timer;
	struct prng prng;
	uint64_t last_ns = 0;
	uint32_t count = 0;

	(void)state;
	prng_init(&prng, 1);
	timer_heap_init(&heap);
	assert_true(timer_heap_earliest_ns(&heap) == UINT64_MAX);
	assert_int_equal(timer_heap_reserve(&heap, TIMERS), 0);
	for (uint32_t i = 0; i < TIMERS; i++)
		timer_heap_arm(&heap, &timers[i], prng_below(&prng, 1000));
	while ((timer = timer_heap_pop_expired(&heap, 1000)) != NULL) {
		assert_true(timer->deadline_ns >= last_ns);
		assert_false(timer_is_armed(timer));
		last_ns = timer->deadline_ns;
		count++;
	}
	assert_int_equal(count, TIMERS);
	timer_heap_fini(&heap);
}

static void test_only_what_is_due(void **state)
{
	struct timer early = {0}, late = {0};
	struct timer_heap heap;

	(void)state;
	timer_heap_init(&heap);
	assert_int_equal(timer_heap_reserve(&heap, 2), 0);
	timer_heap_arm(&heap, &late, 20);
	timer_heap_arm(&heap, &early, 10);
	assert_null(timer_heap_pop_expired(&heap, 9));
	assert_ptr_equal(timer_heap_pop_expired(&heap, 10), &early);
	assert_null(timer_heap_pop_expired(&heap, 19));
	assert_true(timer_heap_earliest_ns(&heap) == 20);
	timer_heap_disarm(&heap, &late);
	timer_heap_disarm(&heap, &late);
	assert_null(timer_heap_pop_expired(&heap, UINT64_MAX));
	timer_heap_fini(&heap);
}

static uint64_t least_deadline(const struct timer *timers)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < TIMERS; i++) {
		if (timer_is_armed(&timers[i]) && timers[i].deadline_ns < least)
			least = timers[i].deadline_ns;
	}
	return least;
}

/* Any mix of arming, moving and disarming keeps the earliest in front. */
static void test_against_a_scan(void **state)
{
	struct timer timers[TIMERS] = {{0}};
	struct timer_heap heap;
	struct prng prng;

	(void)state;
	prng_init(&prng, 2);
	timer_heap_init(&heap);
	assert_int_equal(timer_heap_reserve(&heap, TIMERS), 0);
	for (uint32_t step = 0; step < 20000; step++) {
		struct timer *timer = &timers[prng_below(&prng, TIMERS)];

		if (prng_below(&prng, 3) == 0)
			timer_heap_disarm(&heap, timer);
		else
			timer_heap_arm(&heap, timer, prng_below(&prng, 500));
		assert_true(timer_heap_earliest_ns(&heap) == least_deadline(timers));
	}
	timer_heap_fini(&heap);
	for (uint32_t i = 0; i < TIMERS; i++)
		assert_false(timer_is_armed(&timers[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_of_expiry),
		cmocka_unit_test(test_only_what_is_due),
		cmocka_unit_test(test_against_a_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
