/* SPDX-License-Identifier: MIT */
/*
 * Objects of one kind, by slot and generation: those of one session, or the clients of the control
 * plane. Who has the objects owns the table; the table does not own the objects.
 *
 * Invariant: a removed handle never names an object again, until its slot was reused 2^32 - 1
 * times. Generations begin at 1, so no handle is all zero (rnic_handle_is_none).
 */
#ifndef DAEMON_SHARED_BASE_HANDLE_TABLE_H
#define DAEMON_SHARED_BASE_HANDLE_TABLE_H

#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>

struct handle_table_slot {
	void *object; /* NULL: free */
	uint32_t generation;
	uint32_t next_free; /* slot plus 1; 0: none */
};

struct handle_table {
	struct handle_table_slot *slots;
	uint32_t capacity;
	uint32_t max;
	uint32_t count;
	uint32_t first_free; /* slot plus 1; 0: none */
};

/* An empty table for up to `max` objects; its memory grows with use. */
void handle_table_init(struct handle_table *table, uint32_t max);

/* The table must be empty (asserted). */
void handle_table_fini(struct handle_table *table);

/* Gives `object` a handle. -ENOSPC when `max` are in use, -ENOMEM. */
int handle_table_add(struct handle_table *table, void *object, struct rnic_handle *handle);

/*
 * Frees the slot of `handle`, which must name an object (asserted; callers check client handles by
 * handle_table_get()).
 */
void handle_table_remove(struct handle_table *table, struct rnic_handle handle);

/* The object that a client's `handle` names; NULL when there is none. */
void *handle_table_get(const struct handle_table *table, struct rnic_handle handle);

/* The object in `slot`, of any generation; NULL when the slot is free or beyond the table. */
void *handle_table_at(const struct handle_table *table, uint32_t slot);

/*
 * For loops: returns the first object in a slot at or after `*slot`, and sets `*slot` to the slot
 * after it. NULL at the end.
 */
void *handle_table_next(const struct handle_table *table, uint32_t *slot);

#endif
