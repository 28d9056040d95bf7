/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/stats_totals.h"

#include "tests/unit/unit_test.h"

#include <stdio.h>

static struct rnic_card card;
static struct card_totals totals;
static struct card_reader reader;

static int set_up(void **state)
{
	(void)state;
	memset(&card, 0, sizeof(card));
	memset(&totals, 0, sizeof(totals));
	card.magic = RNIC_CARD_MAGIC;
	card_reader_begin(&reader, &card);
	return 0;
}

static void add_counter(uint32_t kind, const char *name, uint64_t value)
{
	struct rnic_card_counter *counter = &card.counters[card.counter_count];

	counter->kind = kind;
	snprintf(counter->name, sizeof(counter->name), "%s", name);
	counter->value = value;
	card.counter_count++;
}

static void test_growth(void **state)
{
	(void)state;
	card_totals_add(&totals, RNIC_CARD_DEVICE, "sent_packets");
	card_totals_add(&totals, RNIC_CARD_PORT, "sent_packets");
	card_totals_add(&totals, RNIC_CARD_DEVICE, "late");
	add_counter(RNIC_CARD_DEVICE, "sent_packets", 5);
	add_counter(RNIC_CARD_PORT, "sent_packets", 7);
	card_reader_update(&reader, &totals);
	assert_int_equal(card_totals_at(&totals, RNIC_CARD_DEVICE, 0)->value, 5);
	assert_int_equal(card_totals_at(&totals, RNIC_CARD_PORT, 0)->value, 7);
	assert_null(card_totals_at(&totals, RNIC_CARD_PORT, 1));
	card.counters[0].value = 9;
	add_counter(RNIC_CARD_DEVICE, "late", 1);
	card_reader_update(&reader, &totals);
	assert_int_equal(card_totals_at(&totals, RNIC_CARD_DEVICE, 0)->value, 9);
	assert_string_equal(card_totals_at(&totals, RNIC_CARD_DEVICE, 1)->name, "late");

	/* What a process takes back stays counted. */
	card.counters[0].value = 3;
	card_reader_update(&reader, &totals);
	assert_int_equal(card_totals_at(&totals, RNIC_CARD_DEVICE, 0)->value, 9);
	card.counters[0].value = 10;
	card_reader_end(&reader, &totals);
	assert_int_equal(card_totals_at(&totals, RNIC_CARD_DEVICE, 0)->value, 10);
	card.counters[0].value = 11;
	card_reader_update(&reader, &totals);
	assert_int_equal(card_totals_at(&totals, RNIC_CARD_DEVICE, 0)->value, 10);

	/* Another process counts on. */
	card_reader_begin(&reader, &card);
	card_reader_update(&reader, &totals);
	assert_int_equal(card_totals_at(&totals, RNIC_CARD_DEVICE, 0)->value, 21);
}

static void test_lies(void **state)
{
	(void)state;
	card.counter_count = UINT32_MAX;
	card_reader_update(&reader, &totals);
	assert_int_equal(totals.count, 0);
	assert_int_equal(reader.known_count, RNIC_CARD_COUNTERS_MAX);

	set_up(state);
	card_totals_add(&totals, RNIC_CARD_DEVICE, "x");
	card_totals_add(&totals, RNIC_CARD_FAULT, "y");
	add_counter(RNIC_CARD_DEVICE, "\x1b[2Jname", UINT64_MAX);
	add_counter(0, "x", 1);
	add_counter(4, "x", 1);
	add_counter(RNIC_CARD_DEVICE, "x", UINT64_MAX);
	add_counter(RNIC_CARD_DEVICE, "x", UINT64_MAX);
	memset(card.counters[5].name, 'y', sizeof(card.counters[5].name));
	card.counters[5].kind = RNIC_CARD_FAULT;
	card.counters[5].value = 1;
	card.counter_count++;
	card_reader_update(&reader, &totals);
	assert_int_equal(totals.count, 2);
	assert_true(totals.entries[0].value == UINT64_MAX);
	assert_int_equal(totals.entries[1].value, 0);
}

static void test_full_table(void **state)
{
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < CARD_TOTALS_MAX + 3; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		card_totals_add(&totals, RNIC_CARD_DEVICE, name);
		card_totals_add(&totals, RNIC_CARD_DEVICE, "n0");
	}
	assert_int_equal(totals.count, CARD_TOTALS_MAX);
	add_counter(RNIC_CARD_DEVICE, "n5", 7);
	card_reader_end(&reader, &totals);
	assert_int_equal(totals.entries[5].value, 7);
}

static void test_objects(void **state)
{
	struct card_objects objects = {0};

	(void)state;
	card.session_count = 1;
	card.qp_count = UINT32_MAX;
	card.gids_used = 5;
	card.facts_sequence = 8;
	card_reader_add_objects(&reader, &objects);
	card_reader_add_objects(&reader, &objects);
	assert_int_equal(objects.sessions, 2);
	assert_true(objects.qps == 2 * (uint64_t)UINT32_MAX);
	assert_int_equal(card_reader_gids_used(&reader), 5);
	assert_int_equal(card_reader_facts_sequence(&reader), 8);
	card.magic = 0;
	card_reader_add_objects(&reader, &objects);
	assert_int_equal(objects.sessions, 2);
	assert_int_equal(card_reader_gids_used(&reader), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_growth, set_up),
		cmocka_unit_test_setup(test_lies, set_up),
		cmocka_unit_test_setup(test_full_table, set_up),
		cmocka_unit_test_setup(test_objects, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
