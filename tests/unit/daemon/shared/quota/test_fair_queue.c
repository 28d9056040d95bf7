/* SPDX-License-Identifier: MIT */
/* Users who have very different numbers of items in a queue. */
#include "daemon/shared/quota/fair_queue.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#define USERS 3
#define ITEMS 1000

struct item {
	struct fair_item fair;
	unsigned user;
};

static struct fair_queue queue;
static struct fair_share shares[USERS];
static struct item items[USERS][ITEMS];

static int set_up(void **state)
{
	(void)state;
	fair_queue_init(&queue);
	for (unsigned user = 0; user < USERS; user++) {
		fair_share_init(&shares[user]);
		for (unsigned i = 0; i < ITEMS; i++)
			items[user][i] = (struct item){.fair.share = &shares[user], .user = user};
	}
	return 0;
}

static void add(unsigned user, unsigned count)
{
	for (unsigned i = 0, added = 0; added < count; i++) {
		if (list_is_linked(&items[user][i].fair.node))
			continue;
		fair_queue_add(&queue, &items[user][i].fair);
		added++;
	}
}

/* The user of the item; USERS: there is none. */
static unsigned user_of(struct fair_item *item)
{
	return item != NULL ? RNIC_CONTAINER_OF(item, struct item, fair)->user : USERS;
}

static int tear_down(void **state)
{
	(void)state;
	while (fair_queue_take(&queue) != NULL)
		continue;
	for (unsigned user = 0; user < USERS; user++)
		fair_share_fini(&shares[user]);
	return 0;
}

static void test_users_take_turns(void **state)
{
	(void)state;
	assert_true(fair_queue_is_empty(&queue));
	add(0, ITEMS);
	add(1, 1);
	add(2, 2);
	assert_int_equal(user_of(fair_queue_take(&queue)), 0);
	assert_int_equal(user_of(fair_queue_take(&queue)), 1);
	assert_int_equal(user_of(fair_queue_take(&queue)), 2);
	assert_int_equal(user_of(fair_queue_take(&queue)), 0);
	/* A newcomer waits for one of each other user. */
	add(1, 1);
	assert_int_equal(user_of(fair_queue_take(&queue)), 2);
	assert_int_equal(user_of(fair_queue_take(&queue)), 0);
	assert_int_equal(user_of(fair_queue_take(&queue)), 1);
	for (unsigned i = 3; i < ITEMS; i++)
		assert_int_equal(user_of(fair_queue_take(&queue)), 0);
	assert_null(fair_queue_take(&queue));
	assert_true(fair_queue_is_empty(&queue));
}

static void test_items_that_go_by_themselves(void **state)
{
	(void)state;
	add(0, 2);
	add(1, 1);
	list_remove(&items[0][0].fair.node);
	list_remove(&items[1][0].fair.node);
	assert_false(fair_queue_is_empty(&queue));
	assert_int_equal(user_of(fair_queue_take(&queue)), 0);
	assert_true(fair_queue_is_empty(&queue));
	assert_null(fair_queue_take(&queue));
}

/* Each item of a round is tried once, of each user one before a second one. */
static void test_a_round(void **state)
{
	(void)state;
	add(0, ITEMS);
	add(1, 2);
	fair_queue_begin_round(&queue, 4);
	for (unsigned i = 0; i < 2; i++) {
		unsigned one = user_of(fair_queue_take_due(&queue));

		assert_int_equal(one + user_of(fair_queue_take_due(&queue)), 1);
	}
	/* What comes back, or is new, waits for the next round. */
	add(1, 1);
	add(2, 1);
	assert_int_equal(user_of(fair_queue_take_due(&queue)), 0);
	assert_int_equal(user_of(fair_queue_take_due(&queue)), 0);
	assert_null(fair_queue_take_due(&queue));
}

/* Whoever only tried comes before whoever was served meanwhile. */
static void test_who_was_not_served_comes_first(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 5; round++) {
		add(0, 1);
		add(1, 1);
		fair_queue_begin_round(&queue, 1);
		assert_int_equal(user_of(fair_queue_take_due(&queue)), round == 0 ? 0 : 1);
		assert_int_equal(user_of(fair_queue_take_due(&queue)), round == 0 ? 1 : 0);
		assert_null(fair_queue_take_due(&queue));
		fair_queue_note_served(&queue, &items[0][0].fair);
	}
	fair_queue_note_served(&queue, &items[1][0].fair);
	add(0, 1);
	add(1, 1);
	fair_queue_begin_round(&queue, 1);
	assert_int_equal(user_of(fair_queue_take_due(&queue)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_users_take_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_items_that_go_by_themselves, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_round, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_who_was_not_served_comes_first, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
