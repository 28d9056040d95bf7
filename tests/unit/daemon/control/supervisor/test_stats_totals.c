/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/stats_totals.h"

#include "tests/unit/unit_test.h"

#include <stdio.h>

#define BEGUN_NS UINT64_C(5000000000)

static struct rnic_stats_page stats;
static struct stats_totals totals;
static struct stats_reader reader;

static int set_up(void **state)
{
	(void)state;
	memset(&stats, 0, sizeof(stats));
	memset(&totals, 0, sizeof(totals));
	stats.magic = RNIC_STATS_MAGIC;
	stats_reader_begin(&reader, &stats, BEGUN_NS);
	return 0;
}

/* Returns whether the page can be true. */
static bool update(void)
{
	return stats_reader_update(&reader, &totals, BEGUN_NS);
}

static void add_counter(uint32_t kind, const char *name, uint64_t value)
{
	struct rnic_stats_counter *counter = &stats.counters[stats.counter_count];

	counter->kind = kind;
	snprintf(counter->name, sizeof(counter->name), "%s", name);
	counter->value = value;
	stats.counter_count++;
}

static void test_growth(void **state)
{
	(void)state;
	stats_totals_add(&totals, RNIC_STATS_DEVICE, "sent_packets");
	stats_totals_add(&totals, RNIC_STATS_PORT, "sent_packets");
	stats_totals_add(&totals, RNIC_STATS_DEVICE, "late");
	add_counter(RNIC_STATS_DEVICE, "sent_packets", 5);
	add_counter(RNIC_STATS_PORT, "sent_packets", 7);
	assert_true(update());
	assert_int_equal(stats_totals_at(&totals, RNIC_STATS_DEVICE, 0)->value, 5);
	assert_int_equal(stats_totals_at(&totals, RNIC_STATS_PORT, 0)->value, 7);
	assert_null(stats_totals_at(&totals, RNIC_STATS_PORT, 1));
	stats.counters[0].value = 9;
	add_counter(RNIC_STATS_DEVICE, "late", 1);
	assert_true(update());
	assert_int_equal(stats_totals_at(&totals, RNIC_STATS_DEVICE, 0)->value, 9);
	assert_string_equal(stats_totals_at(&totals, RNIC_STATS_DEVICE, 1)->name, "late");

	/* What a process takes back stays counted. */
	stats.counters[0].value = 3;
	assert_true(update());
	assert_int_equal(stats_totals_at(&totals, RNIC_STATS_DEVICE, 0)->value, 9);
	stats.counters[0].value = 10;
	assert_true(update());
	stats_reader_end(&reader);
	assert_int_equal(stats_totals_at(&totals, RNIC_STATS_DEVICE, 0)->value, 10);
	stats.counters[0].value = 11;
	assert_true(update());
	assert_int_equal(stats_totals_at(&totals, RNIC_STATS_DEVICE, 0)->value, 10);

	/* Another process counts on. */
	stats_reader_begin(&reader, &stats, BEGUN_NS);
	assert_true(update());
	assert_int_equal(stats_totals_at(&totals, RNIC_STATS_DEVICE, 0)->value, 21);
}

static void test_lies(void **state)
{
	(void)state;
	stats.counter_count = UINT32_MAX;
	assert_true(update());
	assert_int_equal(totals.count, 0);
	assert_int_equal(reader.known_count, RNIC_STATS_COUNTERS_MAX);

	set_up(state);
	stats_totals_add(&totals, RNIC_STATS_DEVICE, "x");
	stats_totals_add(&totals, RNIC_STATS_FAULT, "y");
	add_counter(RNIC_STATS_DEVICE, "\x1b[2Jname", UINT64_MAX);
	add_counter(0, "x", 1);
	add_counter(4, "x", 1);
	add_counter(RNIC_STATS_DEVICE, "x", 1);
	add_counter(RNIC_STATS_DEVICE, "x", 2);
	memset(stats.counters[5].name, 'y', sizeof(stats.counters[5].name));
	stats.counters[5].kind = RNIC_STATS_FAULT;
	stats.counters[5].value = 1;
	stats.counter_count++;
	assert_true(update());
	assert_int_equal(totals.count, 2);
	assert_int_equal(totals.entries[0].value, 3);
	assert_int_equal(totals.entries[1].value, 0);
}

/* A counter that is more than can have happened is not added, when it is read first or later. */
static void test_impossible_values(void **state)
{
	const uint64_t most = STATS_GROWTH_PER_SECOND;

	(void)state;
	stats_totals_add(&totals, RNIC_STATS_DEVICE, "x");
	add_counter(RNIC_STATS_DEVICE, "x", UINT64_MAX);
	assert_false(update());
	assert_int_equal(totals.entries[0].value, 0);
	stats.counters[0].value = most;
	assert_true(update());
	stats.counters[0].value = most + 1;
	assert_false(update());
	assert_true(stats_reader_update(&reader, &totals, BEGUN_NS + UINT64_C(1000000000)));
	stats.counters[0].value = UINT64_MAX;
	assert_false(stats_reader_update(&reader, &totals, BEGUN_NS + UINT64_C(1000000000000)));
	assert_true(totals.entries[0].value == most + 1);
}

static void test_full_table(void **state)
{
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < STATS_TOTALS_MAX + 3; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		stats_totals_add(&totals, RNIC_STATS_DEVICE, name);
		stats_totals_add(&totals, RNIC_STATS_DEVICE, "n0");
	}
	assert_int_equal(totals.count, STATS_TOTALS_MAX);
	add_counter(RNIC_STATS_DEVICE, "n5", 7);
	assert_true(update());
	assert_int_equal(totals.entries[5].value, 7);
}

static void test_objects(void **state)
{
	struct stats_objects objects = {0};

	(void)state;
	stats.session_count = 1;
	stats.qp_count = UINT32_MAX;
	stats.gids_used = 5;
	stats.facts_sequence = 8;
	stats_reader_add_objects(&reader, &objects);
	stats_reader_add_objects(&reader, &objects);
	assert_int_equal(objects.sessions, 2);
	assert_true(objects.qps == 2 * (uint64_t)UINT32_MAX);
	assert_int_equal(stats_reader_gids_used(&reader), 5);
	assert_int_equal(stats_reader_facts_sequence(&reader), 8);
	stats.magic = 0;
	stats_reader_add_objects(&reader, &objects);
	assert_int_equal(objects.sessions, 2);
	assert_int_equal(stats_reader_gids_used(&reader), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_growth, set_up),
		cmocka_unit_test_setup(test_lies, set_up),
		cmocka_unit_test_setup(test_impossible_values, set_up),
		cmocka_unit_test_setup(test_full_table, set_up),
		cmocka_unit_test_setup(test_objects, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
