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

static enum table_choice table_classify(const struct lane_place *place, uint32_t user)
{
	const bool is_own = place->had_user && place->user == user;

	if (place->is_spoiled)
		return is_own ? TABLE_OWN_SPOILED : TABLE_CHOICES;
	if (is_own)
		return TABLE_OWN;
	return place->had_user ? TABLE_FOREIGN : TABLE_FRESH;
}

int lane_table_choose(const struct lane_table *table, uint32_t user, uint8_t *lane,
		      char text[PORT_TEXT_BYTES])
{
	uint32_t counts[TABLE_CHOICES + 1] = {0};
	uint8_t first[TABLE_CHOICES + 1];
	uint32_t choice;

	for (uint32_t i = table->free_count; i-- > 0;) {
		choice = table_classify(table_place(table, table->free_lanes[i]), user);
		counts[choice]++;
		first[choice] = table->free_lanes[i];
	}
	if (counts[TABLE_OWN] + counts[TABLE_OWN_SPOILED] >= LANE_TABLE_OWN)
		choice = counts[TABLE_OWN] > 0 ? TABLE_OWN : TABLE_OWN_SPOILED;
	else
		for (choice = 0; choice < TABLE_CHOICES && counts[choice] == 0; choice++)
			;
	if (choice < TABLE_CHOICES) {
		*lane = first[choice];
		return 0;
	}
	return port_text_error(text, -ENOSPC,
			       "no lane is left: each of the %u lanes of queue pair numbers has a "
			       "device process%s",
			       table->lane_count,
			       table->free_count > 0 ? ", or had one that spoiled its sockets"
						     : "");
}

void lane_table_take(struct lane_table *table, uint32_t user, uint8_t lane)
{
	uint32_t i = 0;

	assert(!lane_table_is_used(table, lane));
	while (table->free_lanes[i] != lane)
		i++;
	table->free_count--;
	memmove(&table->free_lanes[i], &table->free_lanes[i + 1], table->free_count - i);
	table->places[lane - RNIC_LANE_FIRST].is_used = true;
	table->places[lane - RNIC_LANE_FIRST].had_user = true;
	table->places[lane - RNIC_LANE_FIRST].user = user;
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
