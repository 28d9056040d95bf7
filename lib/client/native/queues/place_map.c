/* SPDX-License-Identifier: MIT */
#include "lib/client/native/queues/place_map.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define WORD_UNITS 64

static uint64_t bit_of(uint32_t unit)
{
	return UINT64_C(1) << (unit % WORD_UNITS);
}

static bool is_taken(const struct place_map *map, uint32_t unit)
{
	return (map->words[unit / WORD_UNITS] & bit_of(unit)) != 0;
}

static void place_map_mark(struct place_map *map, uint32_t first, uint32_t count)
{
	for (uint32_t unit = first; unit < first + count; unit++)
		map->words[unit / WORD_UNITS] |= bit_of(unit);
}

int place_map_init(struct place_map *map, uint32_t units)
{
	const uint32_t words = (units - 1) / WORD_UNITS + 1;

	assert(units > 0);
	map->words = calloc(words, sizeof(*map->words));
	if (map->words == NULL)
		return -ENOMEM;
	map->units = units;
	place_map_mark(map, units, words * WORD_UNITS - units);
	return 0;
}

void place_map_fini(struct place_map *map)
{
	free(map->words);
	*map = (struct place_map){0};
}

/* The taken unit nearest to the end of the run; PLACE_NONE: all are free. */
static uint32_t last_taken(const struct place_map *map, uint32_t first, uint32_t count)
{
	for (uint32_t unit = first + count; unit-- > first;)
		if (is_taken(map, unit))
			return unit;
	return PLACE_NONE;
}

static uint32_t first_taken(const struct place_map *map, uint32_t first, uint32_t count)
{
	for (uint32_t unit = first; unit < first + count; unit++)
		if (is_taken(map, unit))
			return unit;
	return PLACE_NONE;
}

uint32_t place_map_take_first(struct place_map *map, uint32_t count)
{
	uint32_t first = 0;

	while (count <= map->units && first <= map->units - count) {
		uint32_t taken;

		if (first % WORD_UNITS == 0 && map->words[first / WORD_UNITS] == UINT64_MAX) {
			first += WORD_UNITS;
			continue;
		}
		taken = last_taken(map, first, count);
		if (taken == PLACE_NONE) {
			place_map_mark(map, first, count);
			return first;
		}
		first = taken + 1;
	}
	return PLACE_NONE;
}

uint32_t place_map_take_last(struct place_map *map, uint32_t count)
{
	uint32_t end = map->units;

	while (count <= end) {
		uint32_t taken;

		if (end % WORD_UNITS == 0 && end > 0 &&
		    map->words[end / WORD_UNITS - 1] == UINT64_MAX) {
			end -= WORD_UNITS;
			continue;
		}
		taken = first_taken(map, end - count, count);
		if (taken == PLACE_NONE) {
			place_map_mark(map, end - count, count);
			return end - count;
		}
		end = taken;
	}
	return PLACE_NONE;
}

void place_map_give(struct place_map *map, uint32_t first, uint32_t count)
{
	for (uint32_t unit = first; unit < first + count; unit++) {
		assert(is_taken(map, unit));
		map->words[unit / WORD_UNITS] &= ~bit_of(unit);
	}
}
