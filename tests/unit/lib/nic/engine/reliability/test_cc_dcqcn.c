/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/engine_limits.h"
#include "lib/nic/engine/reliability/cc_dcqcn.h"

#include "tests/unit/unit_test.h"

#define LINE_RATE UINT64_C(1000000000) /* a byte in a nanosecond */
#define START_NS  UINT64_C(5000000000)

static void test_unlimited_at_first(void **state)
{
	struct cc_dcqcn cc;
	uint64_t ready_ns;

	(void)state;
	cc_dcqcn_init(&cc, LINE_RATE);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(cc_dcqcn_may_send(&cc, START_NS, &ready_ns));
		cc_dcqcn_sent(&cc, 1 << 20, START_NS);
	}
}

/* The first notification finds alpha 1 and halves the rate. */
static void test_notification_halves_the_rate(void **state)
{
	struct cc_dcqcn cc;

	(void)state;
	cc_dcqcn_init(&cc, LINE_RATE);
	cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, START_NS);
	assert_true(cc.rate == LINE_RATE / 2);
	assert_true(cc.target == LINE_RATE);
	cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, START_NS + 1000);
	assert_true(cc.rate == LINE_RATE / 4);
	assert_true(cc.target == LINE_RATE / 2);
}

/* Without notifications alpha decays, and the next cut is small. */
static void test_alpha_decays(void **state)
{
	struct cc_dcqcn cc;
	uint64_t ready_ns, rate;

	(void)state;
	cc_dcqcn_init(&cc, LINE_RATE);
	cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, START_NS);
	cc_dcqcn_may_send(&cc, START_NS + 5 * LIMIT_CC_ALPHA_NS, &ready_ns);
	assert_in_range(cc.alpha, CC_DCQCN_ONE * 7 / 10, CC_DCQCN_ONE * 74 / 100); /* (15/16)^5 */
	rate = cc.rate;
	cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, START_NS + 5 * LIMIT_CC_ALPHA_NS);
	assert_in_range(cc.rate, rate * 62 / 100, rate * 66 / 100);
}

/* Five steps go half way back each, then the target grows, in the end to the line's rate. */
static void test_recovery_by_time(void **state)
{
	struct cc_dcqcn cc;
	uint64_t ready_ns, now_ns = START_NS, before;

	(void)state;
	cc_dcqcn_init(&cc, LINE_RATE);
	cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, now_ns);
	cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, now_ns);
	for (uint32_t i = 0; i < 5; i++) {
		before = cc.target - cc.rate;
		now_ns += LIMIT_CC_INCREASE_NS;
		cc_dcqcn_may_send(&cc, now_ns, &ready_ns);
		assert_true(cc.target == LINE_RATE / 2);
		assert_in_range(cc.target - cc.rate, before / 2 - 1, before / 2);
	}
	now_ns += LIMIT_CC_INCREASE_NS;
	cc_dcqcn_may_send(&cc, now_ns, &ready_ns);
	assert_true(cc.target == LINE_RATE / 2 + LIMIT_CC_ADDITIVE_INCREASE);
	/* 100 more steps of the target, and some for the rate to follow. */
	now_ns += 140 * (uint64_t)LIMIT_CC_INCREASE_NS;
	assert_true(cc_dcqcn_may_send(&cc, now_ns, &ready_ns));
	assert_false(cc.is_limiting);
}

/* Bytes make steps too, and many of both kinds make the target grow fast. */
static void test_recovery_by_bytes(void **state)
{
	struct cc_dcqcn cc;
	uint64_t ready_ns;

	(void)state;
	cc_dcqcn_init(&cc, LINE_RATE);
	cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, START_NS);
	cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, START_NS);
	for (uint32_t i = 0; i < 5; i++)
		cc_dcqcn_sent(&cc, LIMIT_CC_INCREASE_BYTES, START_NS);
	assert_true(cc.target == LINE_RATE / 2);
	cc_dcqcn_sent(&cc, LIMIT_CC_INCREASE_BYTES, START_NS);
	assert_true(cc.target == LINE_RATE / 2 + LIMIT_CC_ADDITIVE_INCREASE);
	cc_dcqcn_may_send(&cc, START_NS + 6 * (uint64_t)LIMIT_CC_INCREASE_NS, &ready_ns);
	assert_true(cc.target ==
		    LINE_RATE / 2 + 6 * LIMIT_CC_ADDITIVE_INCREASE + LIMIT_CC_HYPER_INCREASE);
}

static void test_never_below_the_least(void **state)
{
	struct cc_dcqcn cc;

	(void)state;
	cc_dcqcn_init(&cc, LINE_RATE);
	for (uint32_t i = 0; i < 100; i++)
		cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, START_NS);
	assert_true(cc.rate == LIMIT_CC_LEAST_RATE);
	assert_true(cc.alpha <= CC_DCQCN_ONE);
}

/* Forged notifications stop at their own floor, and hold back no rate that is below. */
static void test_a_higher_floor(void **state)
{
	const uint64_t floor_rate = LINE_RATE / 16;
	uint64_t ready_ns, now_ns = START_NS;
	struct cc_dcqcn cc;

	(void)state;
	cc_dcqcn_init(&cc, LINE_RATE);
	for (uint32_t i = 0; i < 100; i++)
		cc_dcqcn_notified(&cc, floor_rate, now_ns);
	assert_true(cc.rate == floor_rate);
	for (uint32_t i = 0; i < 100; i++)
		cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, now_ns);
	assert_true(cc.rate == LIMIT_CC_LEAST_RATE);
	while (cc.rate < floor_rate) {
		assert_true(now_ns < START_NS + LIMIT_CC_FORGET_NS);
		now_ns += LIMIT_CC_INCREASE_NS / 3;
		cc_dcqcn_notified(&cc, floor_rate, now_ns);
		assert_true(cc_dcqcn_may_send(&cc, now_ns, &ready_ns));
	}
	assert_true(cc.rate >= floor_rate);
}

/* Packets leave at the rate, after a burst of the unused allowance. */
static void test_pace(void **state)
{
	struct cc_dcqcn cc;
	uint64_t ready_ns, now_ns = START_NS, bytes = 0;

	(void)state;
	cc_dcqcn_init(&cc, LINE_RATE);
	cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, now_ns);
	while (now_ns < START_NS + LIMIT_CC_INCREASE_NS) {
		if (cc_dcqcn_may_send(&cc, now_ns, &ready_ns)) {
			cc_dcqcn_sent(&cc, 1000, now_ns);
			bytes += 1000;
			continue;
		}
		assert_true(ready_ns >= now_ns + LIMIT_CC_BURST_NS / 2);
		now_ns = ready_ns;
	}
	assert_in_range(bytes, LIMIT_CC_INCREASE_NS / 2 - 2 * LIMIT_CC_BURST_NS,
			LIMIT_CC_INCREASE_NS / 2 + LIMIT_CC_BURST_NS);
}

static void test_forgets(void **state)
{
	struct cc_dcqcn cc;
	uint64_t ready_ns;

	(void)state;
	cc_dcqcn_init(&cc, LINE_RATE);
	for (uint32_t i = 0; i < 100; i++)
		cc_dcqcn_notified(&cc, LIMIT_CC_LEAST_RATE, START_NS);
	cc_dcqcn_sent(&cc, 100, START_NS);
	assert_true(cc_dcqcn_may_send(&cc, START_NS + 2 * (uint64_t)LIMIT_CC_FORGET_NS, &ready_ns));
	assert_false(cc.is_limiting);
	assert_int_equal(cc.alpha, CC_DCQCN_ONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unlimited_at_first),
		cmocka_unit_test(test_notification_halves_the_rate),
		cmocka_unit_test(test_alpha_decays),
		cmocka_unit_test(test_recovery_by_time),
		cmocka_unit_test(test_recovery_by_bytes),
		cmocka_unit_test(test_never_below_the_least),
		cmocka_unit_test(test_a_higher_floor),
		cmocka_unit_test(test_pace),
		cmocka_unit_test(test_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
