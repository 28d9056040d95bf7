/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/key_table.h"
#include "lib/nic/base/prng.h"
#include "tests/unit/unit_test.h"

#include <stdbool.h>

static void test_insert_find_remove(void **state)
{
	struct key_table table;
	int a, b;

	(void)state;
	key_table_init(&table, 24, 2, 0);
	assert_null(key_table_find(&table, 5));
	assert_int_equal(key_table_insert(&table, 5, &a), 0);
	assert_int_equal(key_table_insert(&table, 5, &b), -EEXIST);
	assert_int_equal(key_table_insert(&table, 5 + 16, &b), 0);
	assert_ptr_equal(key_table_find(&table, 5), &a);
	assert_ptr_equal(key_table_find(&table, 21), &b);
	assert_null(key_table_find(&table, 37));
	assert_null(key_table_find(&table, UINT32_MAX));
	key_table_remove(&table, 5);
	assert_null(key_table_find(&table, 5));
	assert_ptr_equal(key_table_find(&table, 21), &b);
	key_table_remove(&table, 21);
	key_table_fini(&table);
}

static void test_random_keys_are_in_range(void **state)
{
	struct key_table table;
	struct prng prng;
	const struct random_source random = prng_source(&prng);
	uint32_t keys[30];
	int object;

	(void)state;
	prng_init(&prng, 1);
	key_table_init(&table, 6, 4, 0); /* 60 keys, of which half may be taken */
	for (uint32_t i = 0; i < 30; i++) {
		assert_int_equal(key_table_insert_random(&table, &random, &object, &keys[i]), 0);
		assert_in_range(keys[i], 4, 63);
		for (uint32_t j = 0; j < i; j++)
			assert_int_not_equal(keys[i], keys[j]);
	}
	assert_int_equal(key_table_insert_random(&table, &random, &object, &keys[0]), -ENOSPC);
	for (uint32_t i = 0; i < 30; i++)
		key_table_remove(&table, keys[i]);
	key_table_fini(&table);
}

/* Against a plain array over a small key space, where slots collide all the time. */
static void test_against_an_array(void **state)
{
	static int objects[512];
	bool is_used[512] = {false};
	struct key_table table;
	struct prng prng;

	(void)state;
	prng_init(&prng, 9);
	key_table_init(&table, 9, 0, 0);
	for (uint32_t step = 0; step < 50000; step++) {
		uint32_t key = (uint32_t)prng_below(&prng, 512);
		uint32_t probe = (uint32_t)prng_below(&prng, 512);

		if (is_used[key])
			key_table_remove(&table, key);
		else
			assert_int_equal(key_table_insert(&table, key, &objects[key]), 0);
		is_used[key] = !is_used[key];
		assert_ptr_equal(key_table_find(&table, probe),
				 is_used[probe] ? &objects[probe] : NULL);
	}
	for (uint32_t key = 0; key < 512; key++) {
		if (is_used[key])
			key_table_remove(&table, key);
	}
	key_table_fini(&table);
}

/* A lane of QPNs: every number gets drawn, none twice, and a full lane says so. */
static void test_range_fills_up(void **state)
{
	static bool is_used[65536];
	struct key_table table;
	struct prng prng;
	const struct random_source random = prng_source(&prng);
	uint32_t key = 0;
	int object;

	(void)state;
	prng_init(&prng, 3);
	key_table_init_range(&table, 0xfe0000, 0xff0000, 0);
	for (uint32_t i = 0; i < 65536; i++) {
		assert_int_equal(key_table_insert_random(&table, &random, &object, &key), 0);
		assert_in_range(key, 0xfe0000, 0xfeffff);
		assert_false(is_used[key & 0xffff]);
		is_used[key & 0xffff] = true;
	}
	assert_int_equal(key_table_insert_random(&table, &random, &object, &key), -ENOSPC);
	key_table_remove(&table, 0xfe1234);
	assert_int_equal(key_table_insert_random(&table, &random, &object, &key), 0);
	assert_int_equal(key, 0xfe1234); /* the only one, although it was freed just before */
	for (uint32_t i = 0; i < 65536; i++)
		key_table_remove(&table, 0xfe0000 + i);
	key_table_fini(&table);
}

/* With 100 free keys, each of the last 64 that were freed stays out of use while others are. */
static void test_range_draws_freed_keys_last(void **state)
{
	enum { KEYS = 1000, FREE = 100 };
	struct key_table table;
	struct prng prng;
	const struct random_source random = prng_source(&prng);
	uint32_t freed[KEYS], key = 0;
	int object;

	(void)state;
	prng_init(&prng, 4);
	key_table_init_range(&table, 5000, 5000 + KEYS, 0);
	for (uint32_t i = 0; i < KEYS - FREE; i++)
		assert_int_equal(key_table_insert_random(&table, &random, &object, &key), 0);
	for (uint32_t i = 0; i < KEYS; i++) {
		do
			freed[i] = 5000 + (uint32_t)prng_below(&prng, KEYS);
		while (key_table_find(&table, freed[i]) == NULL);
		key_table_remove(&table, freed[i]);
		assert_int_equal(key_table_insert_random(&table, &random, &object, &key), 0);
		for (uint32_t j = 0; j < KEY_TABLE_FREED_MAX && j <= i; j++)
			assert_int_not_equal(key, freed[i - j]);
	}
	for (uint32_t i = 0; i < KEYS; i++)
		if (key_table_find(&table, 5000 + i) != NULL)
			key_table_remove(&table, 5000 + i);
	key_table_fini(&table);
}

/* The most slots in a row that are taken: what a look-up may have to pass. */
static uint32_t longest_run(const struct key_table *table)
{
	uint32_t longest = 0, run = 0;

	for (uint32_t i = 0; i < 2 * table->slot_count; i++) {
		run = key_table_slot(table, i % table->slot_count) != NULL ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* A client draws many keys, and keeps those that it likes. */
static void test_chosen_keys_do_not_cluster(void **state)
{
	static const struct {
		uint32_t count, step;
	} cases[] = {{32768, 1}, {255, 65536}, {4096, 4096}, {16384, 3}};
	int object;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct key_table table;

		key_table_init(&table, 24, 1, UINT64_C(0x243f6a8885a308d3));
		for (uint32_t key = 1; key <= cases[i].count; key++)
			assert_int_equal(
				key_table_insert(&table, key * cases[i].step & 0xffffff, &object),
				0);
		assert_true(longest_run(&table) < 100);
		for (uint32_t key = 1; key <= cases[i].count; key++)
			key_table_remove(&table, key * cases[i].step & 0xffffff);
		key_table_fini(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_insert_find_remove),
		cmocka_unit_test(test_random_keys_are_in_range),
		cmocka_unit_test(test_against_an_array),
		cmocka_unit_test(test_range_fills_up),
		cmocka_unit_test(test_range_draws_freed_keys_last),
		cmocka_unit_test(test_chosen_keys_do_not_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
