/* SPDX-License-Identifier: MIT */
#include "base/key_table.h"
#include "base/prng.h"
#include "unit_test.h"

#include <stdbool.h>

static void test_insert_find_remove(void **state)
{
	struct key_table table;
	int a, b;

	(void)state;
	key_table_init(&table, 24, 2);
	assert_null(key_table_find(&table, 5));
	assert_int_equal(key_table_insert(&table, 5, &a), 0);
	assert_int_equal(key_table_insert(&table, 5, &b), -EEXIST);
	assert_int_equal(key_table_insert(&table, 5 + 16, &b), 0); /* the same home slot */
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
	key_table_init(&table, 6, 4); /* 60 keys, of which half may be taken */
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
	key_table_init(&table, 9, 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_insert_find_remove),
		cmocka_unit_test(test_random_keys_are_in_range),
		cmocka_unit_test(test_against_an_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
