/* SPDX-License-Identifier: MIT */
#include "daemon/shared/quota/processor_share.h"

#include "tests/unit/unit_test.h"

#include <errno.h>

enum { PARTS = 4, BURST_NS = 1000, FIRST = 7, SECOND = 8 };

static const struct processor_share_rule rule = {.parts = PARTS, .burst_ns = BURST_NS};
static struct processor_share share;

static int set_up(void **state)
{
	(void)state;
	processor_share_init(&share, &rule);
	return 0;
}

/* A burst is free; what is beyond it takes `parts` times as long to pay. */
static void test_burst_and_rate(void **state)
{
	(void)state;
	processor_share_charge(&share, BURST_NS, 0);
	assert_int_equal(processor_share_ask(&share, FIRST, 0), 0);
	processor_share_charge(&share, 10, 0);
	assert_int_equal(processor_share_ask(&share, FIRST, 0), -EAGAIN);
	assert_int_equal(processor_share_ask(&share, FIRST, 10 * PARTS - 1), -EAGAIN);
	assert_int_equal(processor_share_ask(&share, FIRST, 10 * PARTS), 0);
}

/* Time in which nothing was asked for is not saved up. */
static void test_nothing_is_saved(void **state)
{
	const uint64_t late_ns = UINT64_C(1000000000000);

	(void)state;
	processor_share_charge(&share, 1, 0);
	assert_true(processor_share_is_paid(&share, PARTS));
	assert_false(processor_share_is_paid(&share, PARTS - 1));
	processor_share_charge(&share, BURST_NS + 1, late_ns);
	assert_int_equal(processor_share_ask(&share, FIRST, late_ns), -EAGAIN);
}

/* One client waits for the time, all others behind that one. */
static void test_one_debtor(void **state)
{
	(void)state;
	processor_share_charge(&share, BURST_NS + 1, 0);
	assert_int_equal(processor_share_ask(&share, FIRST, 0), -EAGAIN);
	assert_int_equal(processor_share_ask(&share, SECOND, 0), -EBUSY);
	assert_int_equal(processor_share_ask(&share, SECOND, PARTS), -EBUSY);
	processor_share_leave(&share, SECOND); /* waits for no time */
	assert_int_equal(processor_share_ask(&share, SECOND, PARTS), -EBUSY);
	processor_share_leave(&share, FIRST);
	assert_int_equal(processor_share_ask(&share, SECOND, PARTS), 0);
}

/* However much was used, it is paid after four times what pays for a burst. */
static void test_bound_of_what_is_owed(void **state)
{
	const uint64_t burst_paid_ns = (uint64_t)BURST_NS * PARTS;

	(void)state;
	assert_false(processor_share_is_overdrawn(&share, 0));
	for (unsigned i = 0; i < 100; i++)
		processor_share_charge(&share, BURST_NS, 0);
	assert_true(processor_share_is_overdrawn(&share, 0));
	assert_true(processor_share_is_overdrawn(&share, 2 * burst_paid_ns - 1));
	assert_false(processor_share_is_overdrawn(&share, 2 * burst_paid_ns));
	assert_int_equal(processor_share_ask(&share, FIRST, 3 * burst_paid_ns - 1), -EAGAIN);
	assert_int_equal(processor_share_ask(&share, FIRST, 3 * burst_paid_ns), 0);
	assert_true(processor_share_is_paid(&share, 4 * burst_paid_ns));
	processor_share_exhaust(&share, burst_paid_ns);
	assert_false(processor_share_is_paid(&share, 5 * burst_paid_ns - 1));
	assert_true(processor_share_is_paid(&share, 5 * burst_paid_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_burst_and_rate, set_up),
		cmocka_unit_test_setup(test_nothing_is_saved, set_up),
		cmocka_unit_test_setup(test_one_debtor, set_up),
		cmocka_unit_test_setup(test_bound_of_what_is_owed, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
