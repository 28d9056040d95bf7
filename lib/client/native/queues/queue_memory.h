/* SPDX-License-Identifier: MIT */
/*
 * The memory in which the queues of queue pairs lie. Many queue pairs share a region, so that small
 * queues share pages, and that a new queue pair needs no memory of its own from the daemon.
 *
 * Entries lie at the front of a region and spill areas at the back: few programs use spill areas,
 * and a page between entries that nobody writes to would still be a page. Small queues lie beside
 * their spill areas.
 */
#ifndef LIB_CLIENT_NATIVE_QUEUES_QUEUE_MEMORY_H
#define LIB_CLIENT_NATIVE_QUEUES_QUEUE_MEMORY_H

#include "proto/shm/wqe.h"

#include <stdint.h>

struct rnic_link;
struct rnic_queue_region;

/* The regions of one context. Begins with no regions. */
struct rnic_queue_memory {
	struct rnic_link *link; /* to the device */
	struct rnic_queue_region *regions;
};

/* Where the queues of one queue pair lie in their region, and how many units they take there. */
struct rnic_queue_places {
	struct rnic_queue_region *region; /* NULL: the queue pair has no queues */
	uint64_t entries_offset;
	uint64_t spill_offset;
	uint32_t entries_units; /* of UNIT_BYTES, see queue_memory.c */
	uint32_t spill_units;	/* 0: the spill areas lie among the units of the entries */
};

/*
 * Finds places for queues of this plan, in a new region if need be. -ENOMEM, and the errors of a
 * call to the daemon. The callers of all functions take turns (objects_lock of the context).
 */
int rnic_queue_places_take(struct rnic_queue_memory *memory, const struct rnic_queues_plan *plan,
			   struct rnic_queue_places *places);

/* Gives the places back. The daemon must not know the queue pair any more. */
void rnic_queue_places_give(struct rnic_queue_memory *memory, struct rnic_queue_places *places);

/* The daemon's name of the region; none where there are no queues. */
struct rnic_handle rnic_queue_places_handle(const struct rnic_queue_places *places);

uint8_t *rnic_queue_places_entries(const struct rnic_queue_places *places);
uint8_t *rnic_queue_places_spill(const struct rnic_queue_places *places);

/* Unmaps the regions of a context without objects, whose daemon is told nothing. */
void rnic_queue_memory_free(struct rnic_queue_memory *memory);

#endif
