/* SPDX-License-Identifier: MIT */
#include "lib/client/native/queues/queue_memory.h"

#include "lib/client/native/daemon_link.h"
#include "lib/client/native/queues/place_map.h"
#include "lib/client/native/queues/region_map.h"
#include "proto/base/bits.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define UNIT_BYTES	   256
#define FIRST_REGION_BYTES (UINT64_C(256) << 10) /* of most programs it is the only one */
#define REGION_BYTES	   (UINT64_C(1) << 20)	 /* queues that need more have a region alone */

/* A region is mapped as long as queues lie in it, and the last one of usual size stays. */
struct rnic_queue_region {
	struct rnic_queue_region *next;
	struct rnic_handle handle;
	uint8_t *address;
	uint64_t bytes;
	struct place_map map;
	uint32_t users; /* queue pairs */
};

static uint32_t units_of(uint64_t bytes)
{
	return (uint32_t)((bytes + UNIT_BYTES - 1) / UNIT_BYTES);
}

/*
 * How many units the areas take. Where both fit into a page, they lie side by side: each further
 * page of a queue pair is one more address for the processor to translate.
 */
static void places_measure(const struct rnic_queues_plan *plan, struct rnic_queue_places *places)
{
	const uint64_t entries_bytes = rnic_round_up(plan->entries_bytes, RNIC_CACHE_LINE_BYTES);
	const uint64_t bytes = entries_bytes + plan->spill_bytes;

	*places = (struct rnic_queue_places){0};
	if (bytes <= RNIC_QUEUE_PAGE_BYTES) {
		places->entries_units = units_of(bytes);
		places->spill_offset = entries_bytes;
	} else {
		places->entries_units = units_of(entries_bytes);
		places->spill_units = units_of(plan->spill_bytes);
	}
}

/* Takes the measured places in the region, if there is room. */
static bool queue_region_take(struct rnic_queue_region *region, struct rnic_queue_places *places)
{
	const uint32_t entries = place_map_take_first(&region->map, places->entries_units);
	uint32_t spill;

	if (entries == PLACE_NONE)
		return false;
	places->entries_offset = (uint64_t)entries * UNIT_BYTES;
	if (places->spill_units == 0) {
		places->spill_offset += places->entries_offset;
	} else {
		spill = place_map_take_last(&region->map, places->spill_units);
		if (spill == PLACE_NONE) {
			place_map_give(&region->map, entries, places->entries_units);
			return false;
		}
		places->spill_offset = (uint64_t)spill * UNIT_BYTES;
	}
	places->region = region;
	region->users++;
	return true;
}

/* Makes the call, and maps the region that the daemon answers with. */
static int queue_region_request(struct rnic_queue_memory *memory, struct rnic_queue_region *region)
{
	const struct rnic_ctl_create_queue_region request = {.bytes = region->bytes};
	struct rnic_ctl_queue_region_reply reply;
	void *address;
	int fd;
	int error = rnic_link_call_for_fd(
		memory->link, RNIC_CALL(RNIC_CTL_CREATE_QUEUE_REGION, request, reply), &fd);

	if (error != 0)
		return error;
	error = rnic_region_map(fd, RNIC_REGION_QUEUES, region->bytes, &address);
	close(fd);
	if (error != 0) {
		rnic_link_drop_object(memory->link, RNIC_CTL_DESTROY_QUEUE_REGION,
				      reply.queue_region);
		return error;
	}
	region->address = address;
	region->handle = reply.queue_region;
	return 0;
}

/* Makes a region of `bytes` the first one of the context. */
static int queue_region_add(struct rnic_queue_memory *memory, uint64_t bytes)
{
	struct rnic_queue_region *region = calloc(1, sizeof(*region));
	int error = -ENOMEM;

	if (region == NULL)
		return error;
	region->bytes = bytes;
	error = place_map_init(&region->map, (uint32_t)(bytes / UNIT_BYTES));
	if (error != 0)
		goto free_region;
	error = queue_region_request(memory, region);
	if (error != 0)
		goto free_map;
	region->next = memory->regions;
	memory->regions = region;
	return 0;

free_map:
	place_map_fini(&region->map);
free_region:
	free(region);
	return error;
}

/* Adds a region that has room for the places, and for more if the daemon grants that much. */
static int queue_region_add_for(struct rnic_queue_memory *memory,
				const struct rnic_queue_places *places)
{
	const uint64_t usual = memory->regions == NULL ? FIRST_REGION_BYTES : REGION_BYTES;
	const uint64_t units = (uint64_t)places->entries_units + places->spill_units;
	const uint64_t needed = rnic_round_up(units * UNIT_BYTES, RNIC_QUEUE_PAGE_BYTES);
	int error;

	if (needed > usual)
		return queue_region_add(memory, needed);
	error = queue_region_add(memory, usual);
	return error == -ENOSPC ? queue_region_add(memory, needed) : error;
}

int rnic_queue_places_take(struct rnic_queue_memory *memory, const struct rnic_queues_plan *plan,
			   struct rnic_queue_places *places)
{
	int error;

	places_measure(plan, places);
	if (places->entries_units == 0)
		return 0;
	for (struct rnic_queue_region *region = memory->regions; region != NULL;
	     region = region->next)
		if (queue_region_take(region, places))
			return 0;
	error = queue_region_add_for(memory, places);
	if (error != 0)
		return error;
	return queue_region_take(memory->regions, places) ? 0 : -ENOMEM;
}

static void queue_region_free(struct rnic_queue_region *region)
{
	rnic_region_unmap(region->address, region->bytes);
	place_map_fini(&region->map);
	free(region);
}

/* Whether the region serves the next queue pair well: a program may destroy and create in turn. */
static bool is_worth_keeping(const struct rnic_queue_memory *memory,
			     const struct rnic_queue_region *region)
{
	return memory->regions == region && region->next == NULL && region->bytes <= REGION_BYTES;
}

/* Keeps the region for later queue pairs where the daemon cannot be told of its end. */
static void queue_region_remove(struct rnic_queue_memory *memory, struct rnic_queue_region *region)
{
	struct rnic_queue_region **link = &memory->regions;

	if (rnic_link_drop_object(memory->link, RNIC_CTL_DESTROY_QUEUE_REGION, region->handle) !=
		    0 &&
	    rnic_link_lost(memory->link) == 0)
		return;
	while (*link != region)
		link = &(*link)->next;
	*link = region->next;
	queue_region_free(region);
}

void rnic_queue_places_give(struct rnic_queue_memory *memory, struct rnic_queue_places *places)
{
	struct rnic_queue_region *region = places->region;

	if (region == NULL)
		return;
	place_map_give(&region->map, (uint32_t)(places->entries_offset / UNIT_BYTES),
		       places->entries_units);
	if (places->spill_units > 0)
		place_map_give(&region->map, (uint32_t)(places->spill_offset / UNIT_BYTES),
			       places->spill_units);
	*places = (struct rnic_queue_places){0};
	if (--region->users == 0 && !is_worth_keeping(memory, region))
		queue_region_remove(memory, region);
}

struct rnic_handle rnic_queue_places_handle(const struct rnic_queue_places *places)
{
	static const struct rnic_handle none;

	return places->region != NULL ? places->region->handle : none;
}

uint8_t *rnic_queue_places_entries(const struct rnic_queue_places *places)
{
	return places->region != NULL ? places->region->address + places->entries_offset : NULL;
}

uint8_t *rnic_queue_places_spill(const struct rnic_queue_places *places)
{
	return places->region != NULL ? places->region->address + places->spill_offset : NULL;
}

void rnic_queue_memory_free(struct rnic_queue_memory *memory)
{
	while (memory->regions != NULL) {
		struct rnic_queue_region *region = memory->regions;

		memory->regions = region->next;
		queue_region_free(region);
	}
}
