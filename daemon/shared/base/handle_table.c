/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/handle_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define HANDLE_TABLE_FIRST_CAPACITY 16

void handle_table_init(struct handle_table *table, uint32_t max)
{
	*table = (struct handle_table){.max = max};
}

void handle_table_fini(struct handle_table *table)
{
	assert(table->count == 0);
	free(table->slots);
	*table = (struct handle_table){0};
}

static int handle_table_grow(struct handle_table *table)
{
	uint32_t capacity =
		table->capacity == 0 ? HANDLE_TABLE_FIRST_CAPACITY : table->capacity * 2;
	struct handle_table_slot *slots;

	if (table->capacity >= table->max)
		return -ENOSPC;
	if (capacity > table->max)
		capacity = table->max;
	slots = realloc(table->slots, capacity * sizeof(*slots));
	if (slots == NULL)
		return -ENOMEM;
	/* The lowest slots come first: they share cache lines in the regions indexed by slot. */
	for (uint32_t slot = capacity; slot-- > table->capacity;) {
		slots[slot] = (struct handle_table_slot){
			.generation = 1,
			.next_free = table->first_free,
		};
		table->first_free = slot + 1;
	}
	table->slots = slots;
	table->capacity = capacity;
	return 0;
}

int handle_table_add(struct handle_table *table, void *object, struct rnic_handle *handle)
{
	struct handle_table_slot *entry;
	uint32_t slot;

	assert(object != NULL);
	if (table->first_free == 0) {
		int result = handle_table_grow(table);

		if (result != 0)
			return result;
	}
	slot = table->first_free - 1;
	entry = &table->slots[slot];
	table->first_free = entry->next_free;
	table->count++;
	entry->object = object;
	*handle = (struct rnic_handle){.slot = slot, .generation = entry->generation};
	return 0;
}

void handle_table_remove(struct handle_table *table, struct rnic_handle handle)
{
	struct handle_table_slot *entry;

	assert(handle_table_get(table, handle) != NULL);
	entry = &table->slots[handle.slot];
	entry->object = NULL;
	if (++entry->generation == 0)
		entry->generation = 1;
	entry->next_free = table->first_free;
	table->first_free = handle.slot + 1;
	table->count--;
}

void *handle_table_get(const struct handle_table *table, struct rnic_handle handle)
{
	if (handle.slot >= table->capacity ||
	    table->slots[handle.slot].generation != handle.generation)
		return NULL;
	return table->slots[handle.slot].object;
}

void *handle_table_at(const struct handle_table *table, uint32_t slot)
{
	return slot < table->capacity ? table->slots[slot].object : NULL;
}

void *handle_table_next(const struct handle_table *table, uint32_t *slot)
{
	while (*slot < table->capacity) {
		void *object = table->slots[(*slot)++].object;

		if (object != NULL)
			return object;
	}
	return NULL;
}
