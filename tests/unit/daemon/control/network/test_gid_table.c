/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/gid_table.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>

/* `context` is a mask of slots. */
static bool is_used(void *context, uint32_t index)
{
	return (*(const uint32_t *)context >> index & 1) != 0;
}

/* Addresses separated by spaces; "?" behind one: a duplicate. */
static uint32_t parse(const char *line, struct gid_address *addresses)
{
	char copy[256], *rest = copy, *word;
	uint32_t count = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		char *mark = strchr(word, '?');

		if (mark != NULL)
			*mark = '\0';
		addresses[count++] = (struct gid_address){fixture_gid(word), mark != NULL};
	}
	return count;
}

/* The table as a line: "-" for a free slot, "(...)" for one that is taken and not usable. */
static void format(const struct gid_table *table, char line[256])
{
	uint32_t end = GID_TABLE_SLOTS;
	size_t at = 0;

	line[0] = '\0';
	while (end > 0 && rnic_gid_is_zero(&table->slots[end - 1].gid))
		end--;
	for (uint32_t i = 0; i < end; i++) {
		const struct gid_slot *slot = &table->slots[i];
		char text[RNIC_GID_TEXT_BYTES] = "-";

		if (!rnic_gid_is_zero(&slot->gid))
			rnic_gid_text(&slot->gid, text);
		at += (size_t)snprintf(line + at, 256 - at,
				       slot->is_usable || text[0] == '-' ? "%s%s" : "%s(%s)",
				       i == 0 ? "" : " ", text);
	}
}

static void test_follow(void **state)
{
	/* One table through all steps. */
	static const struct {
		const char *addresses;
		uint32_t used;
		const char *table;
		uint32_t changed;
	} steps[] = {
		{"192.0.2.1 2001:db8::1 fe80::1", 0, "fe80::1 192.0.2.1 2001:db8::1", 7},
		{"192.0.2.1 2001:db8::1 fe80::1", 0, "fe80::1 192.0.2.1 2001:db8::1", 0},
		/* A slot stays empty, and the entries behind it stay in place. */
		{"2001:db8::1 fe80::1", 0, "fe80::1 - 2001:db8::1", 2},
		/* The first free slots, in the fixed order, one link-local address only. */
		{"2001:db8::1 fe80::1 2001:db8::2 192.0.2.2 fe80::2", 0,
		 "fe80::1 192.0.2.2 2001:db8::1 2001:db8::2", 10},
		/* A GID in use keeps its slot, and no other GID takes that slot. */
		{"fe80::1 192.0.2.9", 2, "fe80::1 (192.0.2.2) 192.0.2.9", 14},
		{"fe80::1 192.0.2.9 192.0.2.2", 2, "fe80::1 192.0.2.2 192.0.2.9", 2},
		{"fe80::1 192.0.2.9", 2, "fe80::1 (192.0.2.2) 192.0.2.9", 2},
		{"fe80::1 192.0.2.9", 0, "fe80::1 - 192.0.2.9", 2},
		/* A slot is given anew in one step. */
		{"fe80::3 192.0.2.9", 0, "fe80::3 - 192.0.2.9", 1},
		{"", 0, "", 5},
		/* A duplicate has a slot that is not usable, also across a link that goes down. */
		{"192.0.2.1 fe80::1?", 0, "(fe80::1) 192.0.2.1", 3},
		{"192.0.2.1 fe80::1", 0, "fe80::1 192.0.2.1", 1},
		{"192.0.2.1", 1, "(fe80::1) 192.0.2.1", 1},
		{"192.0.2.1 fe80::1?", 1, "(fe80::1) 192.0.2.1", 0},
		{"192.0.2.1 fe80::1", 1, "fe80::1 192.0.2.1", 1},
	};
	struct gid_table table = {0};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(steps); i++) {
		uint32_t used = steps[i].used;
		struct gid_address addresses[8];
		char line[256];
		uint32_t count = parse(steps[i].addresses, addresses);
		uint32_t changed = gid_table_follow(&table, addresses, count, is_used, &used);

		format(&table, line);
		assert_string_equal(line, steps[i].table);
		assert_int_equal(changed, steps[i].changed);
	}
}

static void test_full(void **state)
{
	struct gid_address addresses[GID_TABLE_SLOTS + 8];
	struct gid_table table = {0};
	uint32_t used = 0;

	(void)state;
	for (uint32_t i = 0; i < RNIC_COUNT_OF(addresses); i++) {
		const uint8_t ipv4[4] = {192, 0, 2, (uint8_t)(i + 1)};

		addresses[i] = (struct gid_address){rnic_gid_from_ipv4(ipv4), false};
	}
	assert_int_equal(
		gid_table_follow(&table, addresses, RNIC_COUNT_OF(addresses), is_used, &used),
		UINT32_MAX);
	/* Room for one of the addresses left out. */
	assert_int_equal(gid_table_follow(&table, addresses + 1, RNIC_COUNT_OF(addresses) - 1,
					  is_used, &used),
			 1);
	assert_true(rnic_gid_equal(&table.slots[0].gid, &addresses[GID_TABLE_SLOTS].gid));
}

/* Slots of gone addresses that somebody uses are given away when there is no other one. */
static void test_full_of_gone_addresses(void **state)
{
	struct gid_address address = {fixture_gid("10.0.0.1"), false};
	const struct rnic_gid stays = fixture_gid("10.0.1.1");
	struct gid_address both[2] = {{stays, false}};
	uint32_t used = UINT32_MAX;
	struct gid_table table = {0};

	(void)state;
	gid_table_follow(&table, both, 1, is_used, &used);
	for (uint32_t i = 1; i < GID_TABLE_SLOTS; i++) {
		address.gid.bytes[15] = (uint8_t)i;
		both[1] = address;
		gid_table_follow(&table, both, 2, is_used, &used);
		assert_true(table.slots[i].is_usable);
		gid_table_follow(&table, both, 1, is_used, &used);
		assert_false(table.slots[i].is_usable);
	}
	/* One is back, so that the next one is gone for longest. */
	both[1].gid.bytes[15] = 1;
	assert_int_equal(gid_table_follow(&table, both, 2, is_used, &used), 1 << 1);
	gid_table_follow(&table, both, 1, is_used, &used);
	both[1].gid.bytes[15] = 200;
	assert_int_equal(gid_table_follow(&table, both, 2, is_used, &used), 1 << 2);
	assert_true(rnic_gid_equal(&table.slots[2].gid, &both[1].gid) && table.slots[2].is_usable);
	assert_true(rnic_gid_equal(&table.slots[0].gid, &stays));
}

static void test_own(void **state)
{
	/* One table through all steps. */
	static const struct {
		const char *addresses;
		const char *own;
	} steps[] = {
		{"", "::"},
		/* The address that was usable first stays. */
		{"fe80::1? 2001:db8::1?", "::"},
		{"fe80::1? 2001:db8::1", "2001:db8::1"},
		{"fe80::1 2001:db8::1", "2001:db8::1"},
		{"fe80::1 2001:db8::1 192.0.2.1", "2001:db8::1"},
		/* It goes, as one does that turns out to be a duplicate. */
		{"fe80::1 2001:db8::1? 192.0.2.1", "192.0.2.1"},
		{"fe80::1 2001:db8::1 192.0.2.1", "192.0.2.1"},
		{"fe80::1 2001:db8::1", "fe80::1"},
		{"", "::"},
	};
	struct gid_table table = {0};
	uint32_t used = 0;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(steps); i++) {
		struct gid_address addresses[8];
		uint32_t count = parse(steps[i].addresses, addresses);
		char text[RNIC_GID_TEXT_BYTES] = "::";
		uint32_t own;

		gid_table_follow(&table, addresses, count, is_used, &used);
		own = gid_table_own(&table);
		if (table.slots[own].is_usable)
			rnic_gid_text(&table.slots[own].gid, text);
		assert_string_equal(text, steps[i].own);
		assert_int_equal(gid_table_own(&table), own);
	}
}

/* Addresses get other slots, but those in use stay. */
static void expect_moves(struct gid_table *table, const char *line, uint32_t used)
{
	struct gid_address addresses[GID_TABLE_SLOTS];
	const uint32_t count = parse(line, addresses);
	struct gid_table before;

	gid_table_follow(table, addresses, count, is_used, &used);
	before = *table;
	gid_table_vacate(table, is_used, &used);
	gid_table_follow(table, addresses, count, is_used, &used);
	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++)
		if (!rnic_gid_is_zero(&before.slots[i].gid))
			assert_int_equal(rnic_gid_equal(&before.slots[i].gid, &table->slots[i].gid),
					 is_used(&used, i));
}

static void test_vacate(void **state)
{
	static const char three[] = "fe80::1 192.0.2.1 2001:db8::1";
	static const char all[] = "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 10.0.0.7 "
				  "10.0.0.8 10.0.0.9 10.0.0.10 10.0.0.11 10.0.0.12 10.0.0.13 "
				  "10.0.0.14 10.0.0.15 10.0.0.16";
	static const uint32_t used[] = {0, 1u << 0, 1u << 1, 1u << 2};
	struct gid_table table = {0};
	char line[256];

	(void)state;
	expect_moves(&table, three, 1u << 0);
	expect_moves(&table, three, 0);
	for (size_t i = 0; i < COUNT_OF(used); i++) {
		table = (struct gid_table){0};
		for (uint32_t j = 0; j < 2 * GID_TABLE_SLOTS; j++)
			expect_moves(&table, three, used[i]);
	}
	table = (struct gid_table){0};
	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++)
		expect_moves(&table, all, 0);
	table = (struct gid_table){0};
	expect_moves(&table, three, 1u << 1);
	format(&table, line);
	assert_string_equal(line, "- 192.0.2.1 - fe80::1 2001:db8::1");
	assert_int_equal(gid_table_own(&table), 1);
}

/* One address passes all slots. */
static void test_vacate_goes_round(void **state)
{
	struct gid_table table = {0};

	(void)state;
	for (uint32_t i = 1; i <= GID_TABLE_SLOTS; i++) {
		expect_moves(&table, "192.0.2.1", 0);
		assert_int_equal(gid_table_own(&table), i % GID_TABLE_SLOTS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vacate), cmocka_unit_test(test_vacate_goes_round),
		cmocka_unit_test(test_follow), cmocka_unit_test(test_full),
		cmocka_unit_test(test_own),    cmocka_unit_test(test_full_of_gone_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
