/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/lane_table.h"

#include "lib/nic/port/port_text.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void lane_table_init(struct lane_table *table, uint32_t lane_count)
{
	assert(lane_count <= LANE_TABLE_LANES);
	*table = (struct lane_table){.lane_count = lane_count, .free_count = lane_count};
	for (uint32_t i = 0; i < lane_count; i++)
		table->free_lanes[i] = (uint8_t)(RNIC_LANE_FIRST + i);
}

/* The kinds of free lanes, by their order for a user who has given few back. */
enum table_choice { TABLE_FRESH, TABLE_OWN, TABLE_FOREIGN, TABLE_OWN_SPOILED, TABLE_CHOICES };

static const struct lane_place *table_place(const struct lane_table *table, uint8_t lane)
{
	return &table->places[lane - RNIC_LANE_FIRST];
}

static enum table_choice table_classify(const struct lane_place *place,
					const struct lane_user *user)
{
	const bool is_own = place->had_user && place->account == user->account;

	if (place->is_spoiled)
		return is_own ? TABLE_OWN_SPOILED : TABLE_CHOICES;
	if (is_own)
		return TABLE_OWN;
	return place->had_user ? TABLE_FOREIGN : TABLE_FRESH;
}

/* What owners use already is not kept for them once more. */
uint32_t lane_table_kept(const struct lane_table *table)
{
	uint32_t kept = table->lane_count / LANE_TABLE_RESERVE_PARTS;

	if (kept == 0 && table->lane_count > 1)
		kept = 1;
	for (uint32_t i = 0; kept > 0 && i < table->lane_count; i++)
		kept -= table->places[i].is_used && table->places[i].is_owners;
	return kept;
}

static uint32_t table_used_by(const struct lane_table *table, uint32_t account)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < table->lane_count; i++)
		used += table->places[i].is_used && table->places[i].account == account;
	return used;
}

/* Whether the user may have one of the `good_count` free lanes that are fit for anybody. */
static bool table_may_have(const struct lane_table *table, const struct lane_user *user,
			   uint32_t good_count)
{
	const uint32_t kept = lane_table_kept(table);

	return user->is_owner ||
	       (good_count > kept && table_used_by(table, user->account) < good_count - kept);
}

/* The kind of lane that the user gets; TABLE_CHOICES: none. `counts` are the free ones by kind. */
static enum table_choice table_choose(const struct lane_table *table, const struct lane_user *user,
				      const uint32_t counts[TABLE_CHOICES])
{
	const uint32_t good = counts[TABLE_FRESH] + counts[TABLE_OWN] + counts[TABLE_FOREIGN];

	if (!table_may_have(table, user, good))
		return counts[TABLE_OWN_SPOILED] > 0 ? TABLE_OWN_SPOILED : TABLE_CHOICES;
	if (counts[TABLE_OWN] + counts[TABLE_OWN_SPOILED] >= LANE_TABLE_OWN)
		return counts[TABLE_OWN] > 0 ? TABLE_OWN : TABLE_OWN_SPOILED;
	for (enum table_choice choice = 0; choice < TABLE_CHOICES; choice++)
		if (counts[choice] > 0)
			return choice;
	return TABLE_CHOICES;
}

int lane_table_choose(const struct lane_table *table, const struct lane_user *user, uint8_t *lane,
		      char text[PORT_TEXT_BYTES])
{
	uint32_t counts[TABLE_CHOICES + 1] = {0};
	uint8_t first[TABLE_CHOICES + 1];
	enum table_choice choice;

	for (uint32_t i = table->free_count; i-- > 0;) {
		choice = table_classify(table_place(table, table->free_lanes[i]), user);
		counts[choice]++;
		first[choice] = table->free_lanes[i];
	}
	choice = table_choose(table, user, counts);
	if (choice < TABLE_CHOICES) {
		*lane = first[choice];
		return 0;
	}
	return port_text_error(text, -ENOSPC,
			       "no lane is left: each of the %u lanes of queue pair numbers has a "
			       "device process%s%s",
			       table->lane_count,
			       counts[TABLE_CHOICES] > 0 ? ", or had one that spoiled its sockets"
							 : "",
			       counts[TABLE_CHOICES] < table->free_count
				       ? ", or is kept for root or for users without one"
				       : "");
}

void lane_table_take(struct lane_table *table, const struct lane_user *user, uint8_t lane)
{
	uint32_t i = 0;

	assert(!lane_table_is_used(table, lane));
	while (table->free_lanes[i] != lane)
		i++;
	table->free_count--;
	memmove(&table->free_lanes[i], &table->free_lanes[i + 1], table->free_count - i);
	table->places[lane - RNIC_LANE_FIRST].is_used = true;
	table->places[lane - RNIC_LANE_FIRST].had_user = true;
	table->places[lane - RNIC_LANE_FIRST].account = user->account;
	table->places[lane - RNIC_LANE_FIRST].is_owners = user->is_owner;
}

void lane_table_give_back(struct lane_table *table, uint8_t lane)
{
	assert(lane_table_is_used(table, lane));
	table->places[lane - RNIC_LANE_FIRST].is_used = false;
	table->free_lanes[table->free_count++] = lane;
}

void lane_table_spoil(struct lane_table *table, uint8_t lane)
{
	table->places[lane - RNIC_LANE_FIRST].is_spoiled = true;
}

bool lane_table_is_spoiled(const struct lane_table *table, uint8_t lane)
{
	return table_place(table, lane)->is_spoiled;
}

bool lane_table_is_used(const struct lane_table *table, uint32_t lane)
{
	return lane >= RNIC_LANE_FIRST && lane - RNIC_LANE_FIRST < table->lane_count &&
	       table->places[lane - RNIC_LANE_FIRST].is_used;
}
