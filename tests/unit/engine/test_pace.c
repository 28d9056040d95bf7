/* SPDX-License-Identifier: MIT */
#include "engine/pace.h"

#include "engine/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static void a_burst_goes_at_once_and_no_more(void **state)
{
	struct pace pace;
	uint64_t ready_ns = 0, bytes = 0;

	(void)state;
	pace_init(&pace);
	while (pace_try_take(&pace, 4096, 5 * MS, &ready_ns))
		bytes += 4096;
	assert_int_equal(bytes, LIMIT_PACE_BURST_BYTES);
	assert_true(ready_ns > 5 * MS);
}

/* At the instant that was named there is half a burst, and just before there is not. */
static void the_instant_named_is_right(void **state)
{
	struct pace pace;
	uint64_t ready_ns = 0, later_ns;

	(void)state;
	pace_init(&pace);
	while (pace_try_take(&pace, 4096, 7 * MS, &ready_ns))
		continue;
	assert_false(pace_try_take(&pace, LIMIT_PACE_BURST_BYTES / 2, ready_ns - 1000, &later_ns));
	assert_true(pace_try_take(&pace, LIMIT_PACE_BURST_BYTES / 2, ready_ns, &later_ns));
	assert_false(pace_try_take(&pace, 4096, ready_ns, &later_ns));
}

/* Over a second of taking whatever is there, however often it is asked. */
static void the_rate_is_kept(void **state)
{
	static const uint64_t steps_ns[] = {700, 3333, 100000, 400000};

	(void)state;
	for (size_t i = 0; i < sizeof(steps_ns) / sizeof(steps_ns[0]); i++) {
		struct pace pace;
		uint64_t ready_ns, bytes = 0;

		pace_init(&pace);
		for (uint64_t now_ns = MS; now_ns < 101 * MS; now_ns += steps_ns[i])
			while (pace_try_take(&pace, 1000, now_ns, &ready_ns))
				bytes += 1000;
		assert_in_range(bytes, 99 * (uint64_t)LIMIT_PACE_BYTES_PER_MS,
				100 * (uint64_t)LIMIT_PACE_BYTES_PER_MS + LIMIT_PACE_BURST_BYTES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_goes_at_once_and_no_more),
		cmocka_unit_test(the_instant_named_is_right),
		cmocka_unit_test(the_rate_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
