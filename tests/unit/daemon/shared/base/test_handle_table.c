/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/handle_table.h"
#include "tests/unit/unit_test.h"

#define MAX 40

static int objects[MAX + 1];

static void test_fill_and_empty(void **state)
{
	struct rnic_handle handles[MAX], extra;
	struct handle_table table;

	(void)state;
	handle_table_init(&table, MAX);
	for (int i = 0; i < MAX; i++) {
		assert_int_equal(handle_table_add(&table, &objects[i], &handles[i]), 0);
		assert_false(rnic_handle_is_none(handles[i]));
		assert_int_equal(handles[i].slot, i);
	}
	assert_int_equal(handle_table_add(&table, &objects[MAX], &extra), -ENOSPC);
	for (int i = 0; i < MAX; i++)
		assert_ptr_equal(handle_table_get(&table, handles[i]), &objects[i]);
	for (int i = 0; i < MAX; i++)
		handle_table_remove(&table, handles[i]);
	handle_table_fini(&table);
}

static void test_removed_handle_names_nothing(void **state)
{
	struct rnic_handle first, second;
	struct handle_table table;

	(void)state;
	handle_table_init(&table, MAX);
	assert_int_equal(handle_table_add(&table, &objects[0], &first), 0);
	handle_table_remove(&table, first);
	assert_null(handle_table_get(&table, first));
	assert_int_equal(handle_table_add(&table, &objects[1], &second), 0);
	assert_int_equal(second.slot, first.slot);
	assert_null(handle_table_get(&table, first));
	assert_ptr_equal(handle_table_get(&table, second), &objects[1]);
	assert_ptr_equal(handle_table_at(&table, second.slot), &objects[1]);
	handle_table_remove(&table, second);
	handle_table_fini(&table);
}

static void test_invented_handles(void **state)
{
	static const struct rnic_handle invented[] = {
		{0, 0}, {0, 2}, {1, 0}, {1, 1}, {15, 1}, {16, 1}, {UINT32_MAX, 1}, {UINT32_MAX, 0},
	};
	struct handle_table table;
	struct rnic_handle handle;

	(void)state;
	handle_table_init(&table, MAX);
	assert_null(handle_table_get(&table, (struct rnic_handle){0, 1}));
	assert_int_equal(handle_table_add(&table, &objects[0], &handle), 0);
	for (size_t i = 0; i < sizeof(invented) / sizeof(invented[0]); i++)
		assert_null(handle_table_get(&table, invented[i]));
	assert_null(handle_table_at(&table, UINT32_MAX));
	handle_table_remove(&table, handle);
	handle_table_fini(&table);
}

static void test_walk_skips_holes(void **state)
{
	struct rnic_handle handles[5];
	struct handle_table table;
	uint32_t slot = 0;

	(void)state;
	handle_table_init(&table, MAX);
	assert_null(handle_table_next(&table, &slot));
	for (int i = 0; i < 5; i++)
		assert_int_equal(handle_table_add(&table, &objects[i], &handles[i]), 0);
	handle_table_remove(&table, handles[0]);
	handle_table_remove(&table, handles[3]);
	slot = 0;
	assert_ptr_equal(handle_table_next(&table, &slot), &objects[1]);
	assert_ptr_equal(handle_table_next(&table, &slot), &objects[2]);
	handle_table_remove(&table, handles[2]);
	assert_ptr_equal(handle_table_next(&table, &slot), &objects[4]);
	assert_null(handle_table_next(&table, &slot));
	handle_table_remove(&table, handles[1]);
	handle_table_remove(&table, handles[4]);
	handle_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill_and_empty),
		cmocka_unit_test(test_removed_handle_names_nothing),
		cmocka_unit_test(test_invented_handles),
		cmocka_unit_test(test_walk_skips_holes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
