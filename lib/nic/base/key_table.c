/* SPDX-License-Identifier: MIT */
#include "base/key_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOT_COUNT 16

void key_table_init(struct key_table *table, uint32_t key_bits, uint32_t least_key)
{
	assert(key_bits >= 1 && key_bits <= 24 && least_key < UINT32_C(1) << key_bits);
	*table = (struct key_table){.least_key = least_key, .key_limit = UINT32_C(1) << key_bits};
}

void key_table_fini(struct key_table *table)
{
	assert(table->count == 0);
	free(table->slots);
	table->slots = NULL;
	table->slot_count = 0;
}

/* The slot that holds `key`, or the free slot where `key` belongs. Keys are random and need no
 * hash. */
static uint32_t slot_of(const struct key_slot *slots, uint32_t slot_count, uint32_t key)
{
	uint32_t slot = key & (slot_count - 1);

	while (slots[slot].object != NULL && slots[slot].key != key)
		slot = (slot + 1) & (slot_count - 1);
	return slot;
}

/* Keeps at least half of the slots free after one more insert. */
static int key_table_make_room(struct key_table *table)
{
	uint32_t slot_count = table->slot_count == 0 ? FIRST_SLOT_COUNT : table->slot_count * 2;
	struct key_slot *slots;

	if ((table->count + 1) * 2 <= table->slot_count)
		return 0;
	slots = calloc(slot_count, sizeof(*slots));
	if (slots == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->slot_count; i++) {
		const struct key_slot *old = &table->slots[i];

		if (old->object != NULL)
			slots[slot_of(slots, slot_count, old->key)] = *old;
	}
	free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	return 0;
}

int key_table_insert(struct key_table *table, uint32_t key, void *object)
{
	uint32_t slot;
	int error;

	assert(object != NULL);
	if (key_table_find(table, key) != NULL)
		return -EEXIST;
	error = key_table_make_room(table);
	if (error != 0)
		return error;
	slot = slot_of(table->slots, table->slot_count, key);
	table->slots[slot] = (struct key_slot){.object = object, .key = key};
	table->count++;
	return 0;
}

int key_table_insert_random(struct key_table *table, const struct random_source *random,
			    void *object, uint32_t *key)
{
	uint32_t span = table->key_limit - table->least_key;
	uint32_t drawn;
	int error;

	if (table->count >= (span + 1) / 2)
		return -ENOSPC;
	do {
		drawn = table->least_key + (uint32_t)random_source_below(random, span);
		error = key_table_insert(table, drawn, object);
	} while (error == -EEXIST);
	if (error == 0)
		*key = drawn;
	return error;
}

void *key_table_find(const struct key_table *table, uint32_t key)
{
	if (table->slot_count == 0)
		return NULL;
	return table->slots[slot_of(table->slots, table->slot_count, key)].object;
}

void key_table_remove(struct key_table *table, uint32_t key)
{
	uint32_t mask = table->slot_count - 1;
	uint32_t hole, slot;

	assert(table->slot_count != 0);
	hole = slot_of(table->slots, table->slot_count, key);
	assert(table->slots[hole].object != NULL);
	/* Moves back the keys that a look-up would no longer find with the slot free. */
	for (slot = (hole + 1) & mask; table->slots[slot].object != NULL;
	     slot = (slot + 1) & mask) {
		uint32_t home = table->slots[slot].key & mask;

		if (((slot - home) & mask) >= ((slot - hole) & mask)) {
			table->slots[hole] = table->slots[slot];
			hole = slot;
		}
	}
	table->slots[hole].object = NULL;
	table->count--;
}
