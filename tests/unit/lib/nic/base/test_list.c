/* SPDX-License-Identifier: MIT */
#include "lib/nic/base/list.h"
#include "tests/unit/unit_test.h"

struct item {
	int value;
	struct list node;
};

static void expect(const struct list *head, const int *values, size_t count)
{
	struct list *node;
	size_t i = 0;

	list_for_each (node, head) {
		assert_true(i < count);
		assert_int_equal(list_entry(node, struct item, node)->value, values[i]);
		i++;
	}
	assert_int_equal(i, count);
}

static void test_order(void **state)
{
	struct item items[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
	struct list head;

	(void)state;
	list_init(&head);
	assert_true(list_is_empty(&head));
	list_add_tail(&head, &items[0].node);
	list_add_tail(&head, &items[1].node);
	list_add(&head, &items[2].node);
	assert_false(list_is_empty(&head));
	expect(&head, (const int[]){3, 1, 2}, 3);
	assert_int_equal(list_first_entry(&head, struct item, node)->value, 3);
	assert_int_equal(list_entry(head.prev, struct item, node)->value, 2);
	list_remove(&items[0].node);
	expect(&head, (const int[]){3, 2}, 2);
}

static void test_linked(void **state)
{
	struct item item = {.value = 1};
	struct list head;

	(void)state;
	list_init(&head);
	assert_false(list_is_linked(&item.node)); /* zeroed memory */
	list_remove(&item.node);
	assert_false(list_is_linked(&item.node));
	list_add(&head, &item.node);
	assert_true(list_is_linked(&item.node));
	list_remove(&item.node);
	assert_false(list_is_linked(&item.node));
	list_remove(&item.node);
	assert_true(list_is_empty(&head));
}

static void test_remove_while_walking(void **state)
{
	struct item items[4] = {{.value = 1}, {.value = 2}, {.value = 3}, {.value = 4}};
	struct list *node, *following;
	struct list head;

	(void)state;
	list_init(&head);
	for (size_t i = 0; i < 4; i++)
		list_add_tail(&head, &items[i].node);
	list_for_each_safe (node, following, &head) {
		if (list_entry(node, struct item, node)->value % 2 == 0)
			list_remove(node);
	}
	expect(&head, (const int[]){1, 3}, 2);
	list_for_each_safe (node, following, &head)
		list_remove(node);
	assert_true(list_is_empty(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_linked),
		cmocka_unit_test(test_remove_while_walking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
