/* SPDX-License-Identifier: MIT */
#include "proto/base/link_rate.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>

/* Lanes of a code of width, and Gb/s of a lane with a code of speed, as programs compute them. */
static unsigned lanes_of(uint8_t width)
{
	return width == 2 ? 4 : width;
}

static double lane_of(uint8_t speed)
{
	static const struct {
		uint8_t speed;
		double gbps;
	} lanes[] = {{1, 2.5}, {2, 5}, {4, 10}, {32, 25}, {64, 50}, {128, 100}};

	for (size_t i = 0; i < RNIC_COUNT_OF(lanes); i++)
		if (lanes[i].speed == speed)
			return lanes[i].gbps;
	fail_msg("no such speed: %u", speed);
	return 0;
}

/* Code and text say the same, and not more than the interface has. */
static void test_code_and_text(void **state)
{
	static const uint32_t speeds[] = {2500,	 4999,	5000,	9999,	10000,	25000, 40000,
					  50000, 99999, 100000, 200000, 400000, 800000};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(speeds); i++) {
		const struct rnic_link_rate rate = rnic_link_rate(speeds[i]);
		const unsigned lanes = lanes_of(rate.width);
		double gbps = 0;
		unsigned text_lanes = 0;

		assert_int_equal(sscanf(rate.text, "%lf Gb/sec (%uX ", &gbps, &text_lanes), 2);
		assert_int_equal(text_lanes, lanes);
		assert_true(gbps == lanes * lane_of(rate.speed));
		assert_true(gbps * 1000 <= speeds[i]);
	}
}

/*
 * atop 2.8 reads whole numbers: of "2.5 Gb/sec (1X SDR)" it makes 2 Gb/s on no lane. An interface
 * without a speed has a line that it reads right; slower ones than 5 Gb/s have no other code.
 */
static void test_whole_numbers(void **state)
{
	static const uint32_t speeds[] = {0, 5000, 10000, 25000, 40000, 50000, 100000};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(speeds); i++) {
		unsigned gbps = 0, lanes = 0;

		assert_int_equal(
			sscanf(rnic_link_rate(speeds[i]).text, "%u Gb/sec (%uX ", &gbps, &lanes),
			2);
		assert_true(gbps >= 5);
	}
	assert_string_equal(rnic_link_rate(0).text, "10 Gb/sec (1X QDR)");
	assert_string_equal(rnic_link_rate(1000).text, "2.5 Gb/sec (1X SDR)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_and_text),
		cmocka_unit_test(test_whole_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
