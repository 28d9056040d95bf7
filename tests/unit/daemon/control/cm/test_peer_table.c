/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm/peer_table.h"

#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#define NODES 10000

static struct rnic_gid gid_of(uint32_t i)
{
	return rnic_gid_from_ipv4((const uint8_t[]){10, 0, (uint8_t)(i >> 8), (uint8_t)i});
}

static void test_all_are_found(void **state)
{
	static struct peer_node nodes[NODES];
	struct peer_table table;

	(void)state;
	assert_int_equal(peer_table_init(&table, 7), 0);
	for (uint32_t i = 0; i < NODES; i++) {
		struct rnic_gid gid = gid_of(i % 100);

		peer_table_insert(&table, &nodes[i], &gid, i / 100);
	}
	for (uint32_t i = 0; i < NODES; i++) {
		struct rnic_gid gid = gid_of(i % 100);

		assert_ptr_equal(peer_table_next(&table, &gid, i / 100, NULL), &nodes[i]);
		assert_null(peer_table_next(&table, &gid, i / 100, &nodes[i]));
		assert_null(peer_table_next(&table, &gid, 100 + i, NULL));
	}
	for (uint32_t i = 0; i < NODES; i += 2)
		peer_table_remove(&nodes[i]);
	for (uint32_t i = 0; i < NODES; i++) {
		struct rnic_gid gid = gid_of(i % 100);
		struct peer_node *found = peer_table_next(&table, &gid, i / 100, NULL);

		assert_ptr_equal(found, i % 2 == 0 ? NULL : &nodes[i]);
	}
	peer_table_fini(&table);
}

static void test_several_of_one_name(void **state)
{
	struct peer_node nodes[3] = {0};
	struct rnic_gid gid = gid_of(1);
	struct peer_node *node = NULL;
	struct peer_table table;
	int count = 0;

	(void)state;
	assert_int_equal(peer_table_init(&table, 7), 0);
	for (int i = 0; i < 3; i++)
		peer_table_insert(&table, &nodes[i], &gid, 5);
	while ((node = peer_table_next(&table, &gid, 5, node)) != NULL)
		assert_ptr_equal(node, &nodes[count++]);
	assert_int_equal(count, 3);
	peer_table_remove(&nodes[1]);
	peer_table_remove(&nodes[1]);
	assert_ptr_equal(peer_table_next(&table, &gid, 5, &nodes[0]), &nodes[2]);
	peer_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_found),
		cmocka_unit_test(test_several_of_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
