/* SPDX-License-Identifier: MIT */
/*
 * Keys of up to 24 bits, drawn at random, and the objects they name: QPNs and memory keys. The
 * caller owns the objects.
 *
 * Open addressing with linear probing, at most half full, so that a look-up touches one or two
 * slots and never allocates. Growing happens in inserting, on the control path. A secret seed
 * spreads the keys, so that nobody can keep keys that lie in a row and make every look-up long.
 *
 * Most tables let half of all keys be in use. A table of a range lets all of them, and therefore
 * remembers the keys that it freed last: a key that names another object at once would bring that
 * object what is still on its way to the old one.
 */
#ifndef LIB_NIC_BASE_KEY_TABLE_H
#define LIB_NIC_BASE_KEY_TABLE_H

#include "lib/nic/base/random_source.h"

#include <stdbool.h>
#include <stdint.h>

/* Freed keys that a table of a range draws last. */
#define KEY_TABLE_FREED_MAX 64

struct key_slot {
	void *object; /* NULL: the slot is free */
	uint32_t key;
};

struct key_table {
	struct key_slot *slots;
	uint32_t slot_count; /* a power of two, or 0 before the first insert */
	uint32_t count;
	uint64_t seed;
	uint32_t least_key;
	uint32_t key_limit;   /* keys drawn are in [least_key, key_limit) */
	uint32_t count_limit; /* keys in use beyond which none is drawn */
	bool is_remembering;  /* the keys freed last */
	uint32_t freed_count; /* all so far; freed[] is a ring */
	uint32_t freed[KEY_TABLE_FREED_MAX];
};

/*
 * Keys will have `key_bits` bits (1 .. 24) and be at least `least_key`. `seed` is secret where
 * somebody who is not trusted has the keys. Allocates nothing yet.
 */
void key_table_init(struct key_table *table, uint32_t key_bits, uint32_t least_key, uint64_t seed);

/*
 * Keys will be in [least_key, key_limit), and all may be in use; `key_limit` is at most 2^24.
 * Allocates nothing yet.
 */
void key_table_init_range(struct key_table *table, uint32_t least_key, uint32_t key_limit,
			  uint64_t seed);

/* Frees the table, which must be empty (asserted). */
void key_table_fini(struct key_table *table);

/*
 * Names `object` (not NULL) by a random key that is not in use, stored at *key. -ENOMEM; -ENOSPC
 * when half of all keys are taken, or of a range all.
 */
int key_table_insert_random(struct key_table *table, const struct random_source *random,
			    void *object, uint32_t *key);

/* Names `object` by a key of the caller's choice, which may be below least_key. -EEXIST, -ENOMEM.
 */
int key_table_insert(struct key_table *table, uint32_t key, void *object);

/* The object that `key` names; NULL when there is none. Any 32 bits may be asked for. */
void *key_table_find(const struct key_table *table, uint32_t key);

/* Asks the processor for the slot that a look-up of `key` touches first. */
void key_table_prefetch(const struct key_table *table, uint32_t key);

/* Forgets `key`, which must be in use (asserted). */
void key_table_remove(struct key_table *table, uint32_t key);

/* For walking all objects: slot by slot, NULL where a slot is free. */
static inline void *key_table_slot(const struct key_table *table, uint32_t slot)
{
	return table->slots[slot].object;
}

#endif
