/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/key_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOT_COUNT 16

/* Draws before the search for a free key goes on from the last one, key by key. */
#define DRAWS_MAX 64

void key_table_init(struct key_table *table, uint32_t key_bits, uint32_t least_key, uint64_t seed)
{
	assert(key_bits >= 1 && key_bits <= 24 && least_key < UINT32_C(1) << key_bits);
	*table = (struct key_table){
		.seed = seed,
		.least_key = least_key,
		.key_limit = UINT32_C(1) << key_bits,
	};
	table->count_limit = (table->key_limit - least_key + 1) / 2;
}

void key_table_init_range(struct key_table *table, uint32_t least_key, uint32_t key_limit,
			  uint64_t seed)
{
	assert(least_key < key_limit && key_limit <= UINT32_C(1) << 24);
	*table = (struct key_table){
		.seed = seed,
		.least_key = least_key,
		.key_limit = key_limit,
		.count_limit = key_limit - least_key,
		.is_remembering = true,
	};
}

void key_table_fini(struct key_table *table)
{
	assert(table->count == 0);
	free(table->slots);
	table->slots = NULL;
	table->slot_count = 0;
}

/*
 * Mixes key and seed as splitmix64 does. Keys are random, but their owners can give back all that
 * do not lie close together.
 */
static uint32_t home_of(uint64_t seed, uint32_t slot_count, uint32_t key)
{
	uint64_t mixed = (seed ^ key) * UINT64_C(0x9e3779b97f4a7c15);

	mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(mixed >> 32) & (slot_count - 1);
}

/* The slot that holds `key`, or the free slot where `key` belongs. */
static uint32_t slot_of(const struct key_slot *slots, uint32_t slot_count, uint64_t seed,
			uint32_t key)
{
	uint32_t slot = home_of(seed, slot_count, key);

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
			slots[slot_of(slots, slot_count, table->seed, old->key)] = *old;
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
	slot = slot_of(table->slots, table->slot_count, table->seed, key);
	table->slots[slot] = (struct key_slot){.object = object, .key = key};
	table->count++;
	return 0;
}

static bool is_remembered(const struct key_table *table, uint32_t key)
{
	uint32_t count =
		table->freed_count < KEY_TABLE_FREED_MAX ? table->freed_count : KEY_TABLE_FREED_MAX;

	for (uint32_t i = 0; i < count; i++)
		if (table->freed[i] == key)
			return true;
	return false;
}

/* Remembers `key` instead of the key that was freed the longest time ago. */
static void remember(struct key_table *table, uint32_t key)
{
	if (table->is_remembering)
		table->freed[table->freed_count++ % KEY_TABLE_FREED_MAX] = key;
}

/*
 * Draws a key that is free and not remembered. A nearly full range would refuse most draws, so
 * after some of them the search goes on from the last one, key by key. Returns false when there is
 * none.
 */
static bool draw_key(const struct key_table *table, const struct random_source *random,
		     uint32_t *key)
{
	uint32_t span = table->key_limit - table->least_key;
	uint32_t at = 0;

	for (uint32_t i = 0; i < DRAWS_MAX; i++) {
		at = (uint32_t)random_source_below(random, span);
		*key = table->least_key + at;
		if (key_table_find(table, *key) == NULL && !is_remembered(table, *key))
			return true;
	}
	for (uint32_t i = 1; i < span; i++) {
		*key = table->least_key + (at + i) % span;
		if (key_table_find(table, *key) == NULL && !is_remembered(table, *key))
			return true;
	}
	return false;
}

/* Finds the free key that was freed the longest time ago; false when none is remembered. */
static bool take_remembered(const struct key_table *table, uint32_t *key)
{
	uint32_t count =
		table->freed_count < KEY_TABLE_FREED_MAX ? table->freed_count : KEY_TABLE_FREED_MAX;

	for (uint32_t i = table->freed_count - count; i != table->freed_count; i++) {
		*key = table->freed[i % KEY_TABLE_FREED_MAX];
		if (key_table_find(table, *key) == NULL)
			return true;
	}
	return false;
}

int key_table_insert_random(struct key_table *table, const struct random_source *random,
			    void *object, uint32_t *key)
{
	uint32_t drawn;
	int error;

	if (table->count >= table->count_limit)
		return -ENOSPC;
	if (!draw_key(table, random, &drawn) && !take_remembered(table, &drawn))
		return -ENOSPC;
	error = key_table_insert(table, drawn, object);
	if (error == 0)
		*key = drawn;
	return error;
}

void *key_table_find(const struct key_table *table, uint32_t key)
{
	if (table->slot_count == 0)
		return NULL;
	return table->slots[slot_of(table->slots, table->slot_count, table->seed, key)].object;
}

void key_table_prefetch(const struct key_table *table, uint32_t key)
{
	if (table->slot_count > 0)
		__builtin_prefetch(&table->slots[home_of(table->seed, table->slot_count, key)]);
}

void key_table_remove(struct key_table *table, uint32_t key)
{
	uint32_t mask = table->slot_count - 1;
	uint32_t hole, slot;

	assert(table->slot_count != 0);
	hole = slot_of(table->slots, table->slot_count, table->seed, key);
	assert(table->slots[hole].object != NULL);
	/* Moves back the keys that a look-up would no longer find with the slot free. */
	for (slot = (hole + 1) & mask; table->slots[slot].object != NULL;
	     slot = (slot + 1) & mask) {
		const uint32_t home =
			home_of(table->seed, table->slot_count, table->slots[slot].key);

		if (((slot - home) & mask) >= ((slot - hole) & mask)) {
			table->slots[hole] = table->slots[slot];
			hole = slot;
		}
	}
	table->slots[hole].object = NULL;
	table->count--;
	remember(table, key);
}
