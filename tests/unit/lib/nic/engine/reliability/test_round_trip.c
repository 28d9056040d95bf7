/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/round_trip.h"

#include "lib/nic/engine/engine_limits.h"
#include "tests/unit/unit_test.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* Packet `psn` leaves at `*now_ns` and is acknowledged `ns` later. */
static void measure(struct round_trip *round_trip, uint64_t *now_ns, uint32_t psn, uint64_t ns)
{
	round_trip_sent(round_trip, rnic_psn(psn), *now_ns);
	*now_ns += ns;
	round_trip_acknowledged(round_trip, rnic_psn(psn + 1), *now_ns);
}

static void test_no_wait_without_a_measure(void **state)
{
	struct round_trip round_trip = {0};

	(void)state;
	assert_true(round_trip_wait_ns(&round_trip) == UINT64_MAX);
	round_trip_sent(&round_trip, rnic_psn(1), 5 * MS);
	round_trip_acknowledged(&round_trip, rnic_psn(1), 7 * MS);
	assert_true(round_trip_wait_ns(&round_trip) == UINT64_MAX);
	round_trip_probe(&round_trip);
	assert_true(round_trip_wait_ns(&round_trip) == UINT64_MAX);
}

/* The first measure R makes the mean R and the variation R / 2, as in RFC 6298. */
static void test_first_measure(void **state)
{
	struct round_trip round_trip = {0};
	uint64_t now_ns = 0;

	(void)state;
	measure(&round_trip, &now_ns, 7, 10 * MS);
	assert_int_equal(round_trip.smoothed_ns, 10 * MS);
	assert_int_equal(round_trip.variation_ns, 5 * MS);
	assert_int_equal(round_trip_wait_ns(&round_trip), 40 * MS);
}

static void test_smoothing(void **state)
{
	struct round_trip round_trip = {0};
	uint64_t now_ns = 0;

	(void)state;
	measure(&round_trip, &now_ns, 1, 8 * MS);
	measure(&round_trip, &now_ns, 2, 16 * MS);
	assert_int_equal(round_trip.smoothed_ns, 9 * MS);
	assert_int_equal(round_trip.variation_ns, 5 * MS);
	measure(&round_trip, &now_ns, 3, MS);
	assert_int_equal(round_trip.smoothed_ns, 8 * MS);
	assert_int_equal(round_trip.variation_ns, 5 * MS * 3 / 4 + 2 * MS);
}

/* Equal round trips leave no variation, and of short ones the least wait. */
static void test_least_wait(void **state)
{
	struct round_trip round_trip = {0};
	uint64_t now_ns = 0;

	(void)state;
	for (uint32_t psn = 0; psn < 100; psn++)
		measure(&round_trip, &now_ns, psn, 2 * MS);
	assert_in_range(round_trip_wait_ns(&round_trip), 4 * MS, 4 * MS + 100);
	for (uint32_t psn = 100; psn < 200; psn++)
		measure(&round_trip, &now_ns, psn, 20 * US);
	assert_int_equal(round_trip_wait_ns(&round_trip), LIMIT_TAIL_PROBE_NS);
}

/* Virtual clocks can stand still, and real ones hang for long. */
static void test_extreme_measures(void **state)
{
	struct round_trip round_trip = {0};
	uint64_t now_ns = 0;

	(void)state;
	measure(&round_trip, &now_ns, 1, 0);
	assert_int_equal(round_trip_wait_ns(&round_trip), LIMIT_TAIL_PROBE_NS);
	for (uint32_t psn = 2; psn < 100; psn++)
		measure(&round_trip, &now_ns, psn, UINT64_C(3600000000000));
	assert_in_range(round_trip_wait_ns(&round_trip), 1000 * MS, 10000 * MS);
}

static void test_one_packet_is_timed_at_a_time(void **state)
{
	struct round_trip round_trip = {0};

	(void)state;
	round_trip_sent(&round_trip, rnic_psn(10), 10 * MS);
	round_trip_sent(&round_trip, rnic_psn(20), 13 * MS);
	round_trip_acknowledged(&round_trip, rnic_psn(10), 14 * MS);
	assert_true(round_trip_wait_ns(&round_trip) == UINT64_MAX);
	round_trip_acknowledged(&round_trip, rnic_psn(15), 15 * MS);
	assert_int_equal(round_trip.smoothed_ns, 5 * MS);
	/* Nothing is timed until the next packet leaves. */
	round_trip_acknowledged(&round_trip, rnic_psn(21), 50 * MS);
	assert_int_equal(round_trip.smoothed_ns, 5 * MS);
}

static void test_psn_wrap(void **state)
{
	struct round_trip round_trip = {0};
	uint64_t now_ns = 0;

	(void)state;
	round_trip_sent(&round_trip, rnic_psn(RNIC_PSN_MASK), now_ns);
	round_trip_acknowledged(&round_trip, rnic_psn(RNIC_PSN_MASK), 2 * MS);
	assert_int_equal(round_trip.smoothed_ns, 0);
	round_trip_acknowledged(&round_trip, rnic_psn(0), 3 * MS);
	assert_int_equal(round_trip.smoothed_ns, 3 * MS);
}

/* Karn's algorithm. */
static void test_what_is_sent_again_is_not_measured(void **state)
{
	struct round_trip round_trip = {0};

	(void)state;
	round_trip_sent(&round_trip, rnic_psn(1), MS);
	round_trip_forget(&round_trip);
	round_trip_acknowledged(&round_trip, rnic_psn(2), 90 * MS);
	assert_int_equal(round_trip.smoothed_ns, 0);
	round_trip_sent(&round_trip, rnic_psn(2), 90 * MS);
	round_trip_probe(&round_trip);
	round_trip_acknowledged(&round_trip, rnic_psn(3), 95 * MS);
	assert_int_equal(round_trip.smoothed_ns, 0);
}

/* Each probe doubles the wait, for the next packets too, until one of them is measured. */
static void test_probes_double_the_wait(void **state)
{
	struct round_trip round_trip = {0};
	uint64_t now_ns = 0, last_ns = 0;

	(void)state;
	measure(&round_trip, &now_ns, 1, 20 * US);
	round_trip_probe(&round_trip);
	assert_int_equal(round_trip_wait_ns(&round_trip), 2 * LIMIT_TAIL_PROBE_NS);
	round_trip_probe(&round_trip);
	round_trip_acknowledged(&round_trip, rnic_psn(10), now_ns);
	assert_int_equal(round_trip_wait_ns(&round_trip), 4 * LIMIT_TAIL_PROBE_NS);
	measure(&round_trip, &now_ns, 10, 20 * US);
	assert_int_equal(round_trip_wait_ns(&round_trip), LIMIT_TAIL_PROBE_NS);
	for (uint32_t i = 0; i < 1000; i++) {
		round_trip_probe(&round_trip);
		assert_true(round_trip_wait_ns(&round_trip) >= last_ns);
		last_ns = round_trip_wait_ns(&round_trip);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_wait_without_a_measure),
		cmocka_unit_test(test_first_measure),
		cmocka_unit_test(test_smoothing),
		cmocka_unit_test(test_least_wait),
		cmocka_unit_test(test_extreme_measures),
		cmocka_unit_test(test_one_packet_is_timed_at_a_time),
		cmocka_unit_test(test_psn_wrap),
		cmocka_unit_test(test_what_is_sent_again_is_not_measured),
		cmocka_unit_test(test_probes_double_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
