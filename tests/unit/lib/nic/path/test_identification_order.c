/* SPDX-License-Identifier: MIT */
/* Which identifications of a sender are doubtful, and how few packets that costs any sender. */
#include "lib/nic/path/identification_order.h"

#include "lib/nic/base/prng.h"
#include "proto/base/time_units.h"
#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#define WRAPS 65536

/* The most that a sender may lose of `count` packets. */
#define LOSSES_MAX(count) (14 + (count) / 65536)

struct bench {
	struct identification_order order;
	struct rnic_addresses addresses;
	uint64_t now_ns;
	uint64_t count, losses;
	struct prng random;
};

static struct rnic_gid ipv4(uint32_t address)
{
	const uint8_t bytes[] = {(uint8_t)(address >> 24), (uint8_t)(address >> 16),
				 (uint8_t)(address >> 8), (uint8_t)address};

	return rnic_gid_from_ipv4(bytes);
}

static struct bench *bench_create(void)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->addresses.source = ipv4(0x0a000001);
	bench->addresses.dest = ipv4(0x0a000002);
	bench->now_ns = RNIC_NS_PER_SECOND;
	prng_init(&bench->random, 7);
	return bench;
}

static bool bench_take(struct bench *bench, uint32_t identification)
{
	bool fits = !identification_may_count((uint16_t)identification) ||
		    identification_order_fits(&bench->order, &bench->addresses,
					      (uint16_t)identification, bench->now_ns);

	bench->count++;
	bench->losses += !fits;
	return fits;
}

/* Packets one after the other, none of which is lost. */
static void bench_count(struct bench *bench, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		assert_true(bench_take(bench, first + i));
}

/* A jump is doubtful when the sender has shown order, and passes at the second try. */
static void test_jump(void **state)
{
	struct bench *bench = bench_create();

	(void)state;
	bench_count(bench, 30000, 1);
	bench_count(bench, 50000, 1 + IDENTIFICATION_PROOF_FIRST);
	assert_false(bench_take(bench, 20000));
	bench_count(bench, 20001, 1);
	bench_count(bench, 40000, 2 * IDENTIFICATION_PROOF_FIRST);
	assert_true(bench_take(bench, 60000)); /* twice as much is to be shown */
	bench_count(bench, 40000, 1 + 2 * IDENTIFICATION_PROOF_FIRST);
	assert_false(bench_take(bench, 60000));
	bench_count(bench, 40100, 1);
	free(bench);
}

/* What comes next is known of a sender that was seen. */
static void test_next(void **state)
{
	struct bench *bench = bench_create();

	(void)state;
	assert_int_equal(identification_order_next(&bench->order, &bench->addresses), 0);
	bench_count(bench, 65530, 6);
	assert_int_equal(identification_order_next(&bench->order, &bench->addresses), 0);
	bench_count(bench, 64, 3);
	assert_int_equal(identification_order_next(&bench->order, &bench->addresses), 67);
	bench->addresses.source.bytes[0] = 0xfd;
	assert_int_equal(identification_order_next(&bench->order, &bench->addresses), 0);
	free(bench);
}

/* Numbers of a segmented send pass from anybody, and do not disturb the order. */
static void test_numbers_of_a_segmented_send(void **state)
{
	struct bench *bench = bench_create();

	(void)state;
	bench_count(bench, 0, 64);
	bench_count(bench, 30000, 100);
	bench_count(bench, 0, 64);
	assert_false(bench_take(bench, 64));
	bench_count(bench, 30100, 1);
	free(bench);
}

/* Each pair of addresses has its own count, as in Linux. */
static void test_pairs_of_addresses(void **state)
{
	struct bench *bench = bench_create();

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		bench->addresses.source = ipv4(0x0a000000 + i % 5);
		bench->addresses.dest = ipv4(0x0a000000 + i % 7);
		bench_count(bench, i % 35 * 1000 + 2000 + i / 35, 1);
	}
	for (uint32_t i = 0; i < 35; i++) {
		bench->addresses.source = ipv4(0x0a000000 + i % 5);
		bench->addresses.dest = ipv4(0x0a000000 + i % 7);
		assert_false(bench_take(bench, i * 1000 + 4000));
	}
	free(bench);
}

/* What a sender can have sent to others meanwhile is not doubtful. */
static void test_time_that_passes(void **state)
{
	static const struct {
		uint64_t passed_us;
		int32_t step;
		bool fits;
	} rows[] = {
		{0, 1024, true},	 {0, 1025, false},     {100, 1124, true},
		{100, 1125, false},	 {0, -64, true},       {0, -65, false},
		{100, -64, true},	 {100, -65, false},    {1000, 2000, true},
		{1000, 2100, false},	 {32000, 32000, true}, {32000, -1000, false},
		{65536, 100, true},	 {65536, 32768, true}, {65536, -200, true},
		{UINT32_MAX, 999, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench *bench = bench_create();

		bench_count(bench, 30000, 100);
		bench->now_ns += rows[i].passed_us * RNIC_NS_PER_US;
		assert_int_equal(bench_take(bench, (uint32_t)(30099 + rows[i].step)), rows[i].fits);
		free(bench);
	}
}

/* A clock that goes back allows no more than one that stands. */
static void test_time_that_goes_back(void **state)
{
	struct bench *bench = bench_create();

	(void)state;
	bench_count(bench, 30000, 100);
	bench->now_ns = 0;
	assert_false(bench_take(bench, 40000));
	bench_count(bench, 30100, 100);
	free(bench);
}

/* A sender that counts loses nothing, whatever is lost or overtaken on the way. */
static void test_counting_sender(void **state)
{
	struct bench *bench = bench_create();
	uint64_t identification = 30000;

	(void)state;
	while (identification < UINT64_C(65536) * 16)
		bench_count(bench, (uint32_t)identification++, 1);
	while (identification < UINT64_C(65536) * WRAPS) {
		uint32_t lost = (uint32_t)prng_below(&bench->random, 512);

		bench->now_ns += lost * RNIC_NS_PER_US;
		identification += 1 + lost;
		bench_count(bench, (uint32_t)identification, 1);
		bench_count(bench, (uint32_t)identification - 20, 1);
	}
	free(bench);
}

/* Linux adds at random up to one for each tick of its clock that a pause lasted. */
static void test_pauses_of_linux(void **state)
{
	struct bench *bench = bench_create();
	uint32_t identification = 30000;

	(void)state;
	for (uint32_t i = 0; i < 1000000; i++) {
		uint32_t ticks = (uint32_t)prng_below(&bench->random, 1000) + 1;

		bench_count(bench, identification, 20);
		bench->now_ns += ticks * RNIC_NS_PER_MS;
		identification += 20 + (uint32_t)prng_below(&bench->random, ticks);
	}
	free(bench);
}

/*
 * Packets before and behind a pause wait somewhere, and come together. Two pauses of half a second
 * count as one, where all numbers between them are those of a segmented send.
 */
static void test_pauses_that_are_not_seen(void **state)
{
	struct bench *bench = bench_create();
	uint32_t identification = 30000;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		bench_count(bench, identification, 20);
		identification += 20 + (uint32_t)prng_below(&bench->random, 500);
	}
	free(bench);
}

/* Order never shows where there is none, so that such a sender loses nothing. */
static void test_random_sender(void **state)
{
	struct bench *bench = bench_create();

	(void)state;
	for (uint32_t i = 0; i < 3000000; i++) {
		bench->now_ns += prng_below(&bench->random, 200 * RNIC_NS_PER_US);
		bench_count(bench, (uint32_t)prng_next(&bench->random), 1);
	}
	free(bench);
}

/* Two hosts behind one address, and one that loses its order after it has shown it. */
static void test_sender_that_jumps(void **state)
{
	(void)state;
	for (uint32_t run = 1; run <= 200000; run = 3 * run + 1) {
		struct bench *bench = bench_create();
		uint32_t identifications[] = {10000, 40000};

		for (uint32_t i = 0; i < 1000000; i++)
			bench_take(bench, identifications[i / run % 2]++);
		assert_true(bench->losses <= LOSSES_MAX(bench->count));
		bench->count = bench->losses = 0;
		for (uint32_t i = 0; i < 1000; i++)
			bench_take(bench, (uint32_t)prng_next(&bench->random));
		assert_true(bench->losses <= 1);
		free(bench);
	}
}

/* Forged senders, new ones all the time, do not take the place of one that sends. */
static void test_place_among_forged_senders(void **state)
{
	struct bench *bench = bench_create();
	const struct rnic_gid good = bench->addresses.source;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		bench->addresses.source = good;
		bench_count(bench, 30000 + i, 1);
		bench->now_ns += 100 * RNIC_NS_PER_US;
		for (uint32_t forged = 0; forged < 20; forged++) {
			bench->addresses.source = ipv4((uint32_t)prng_next(&bench->random));
			bench_take(bench, (uint32_t)prng_next(&bench->random));
		}
	}
	bench->addresses.source = good;
	assert_false(bench_take(bench, 10000));
	bench_count(bench, 50000, 1);
	free(bench);
}

/* Forged senders that count take all places: nothing is known of the one that sends, all passes. */
static void test_forged_senders_that_count(void **state)
{
	struct bench *bench = bench_create();
	const struct rnic_gid good = bench->addresses.source;

	(void)state;
	for (uint32_t i = 0; i < 50; i++) {
		bench->addresses.source = good;
		bench_count(bench, 3000 + 1000 * i, 2 * IDENTIFICATION_PROOF_FIRST);
		for (uint32_t forged = 1; forged < 4000; forged++) {
			bench->addresses.source = ipv4(forged);
			bench_count(bench, 5000, 4 * IDENTIFICATION_PROOF_FIRST);
		}
	}
	free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jump),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_numbers_of_a_segmented_send),
		cmocka_unit_test(test_pairs_of_addresses),
		cmocka_unit_test(test_time_that_passes),
		cmocka_unit_test(test_time_that_goes_back),
		cmocka_unit_test(test_counting_sender),
		cmocka_unit_test(test_pauses_of_linux),
		cmocka_unit_test(test_pauses_that_are_not_seen),
		cmocka_unit_test(test_random_sender),
		cmocka_unit_test(test_sender_that_jumps),
		cmocka_unit_test(test_place_among_forged_senders),
		cmocka_unit_test(test_forged_senders_that_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
