/* SPDX-License-Identifier: MIT */
/* Which units of a region are taken: finds room for runs of units, from the front or the back. */
#ifndef LIB_CLIENT_NATIVE_QUEUES_PLACE_MAP_H
#define LIB_CLIENT_NATIVE_QUEUES_PLACE_MAP_H

#include <stdint.h>

#define PLACE_NONE UINT32_MAX

struct place_map {
	uint64_t *words; /* one bit a unit: 1 is taken. The units beyond the last one are taken */
	uint32_t units;
};

/* A map of `units` free units, at least 1. -ENOMEM. */
int place_map_init(struct place_map *map, uint32_t units);
void place_map_fini(struct place_map *map);

/* Takes the first or the last run of `count` free units. PLACE_NONE: there is no such run. */
uint32_t place_map_take_first(struct place_map *map, uint32_t count);
uint32_t place_map_take_last(struct place_map *map, uint32_t count);

/* Frees units that were taken (asserted). */
void place_map_give(struct place_map *map, uint32_t first, uint32_t count);

#endif
