/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/rule_table.h"

#include "tests/unit/unit_test.h"

#include <errno.h>

#define USER 1000u

static const struct rule_owner root = {.uid = 0, .is_of_all = true};
static const struct rule_owner user = {.uid = USER, .account = USER};
static struct rule_table table;
static struct rnic_process_rules sent;
static uint32_t first, count;
static char reason[160];

static int set_up(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	return 0;
}

static int add(const struct rule_owner *owner, const char *spec)
{
	return rule_table_add(&table, owner, spec, 1, &first, &count, reason, sizeof(reason));
}

static void test_all_or_none(void **state)
{
	(void)state;
	assert_int_equal(add(&root, "drop,lose"), -EINVAL);
	assert_int_equal(add(&root, "seed=7"), 0);
	assert_int_equal(count, 0);
	assert_false(rule_table_concerns(&table, USER));
	assert_int_equal(add(&root, "drop=1%,delay=1ms/seed=5,seed=7"), 0);
	assert_int_equal(first, 1);
	assert_int_equal(count, 2);
	assert_int_equal(rule_table_find(&table, 1)->seed, 7);
	assert_int_equal(rule_table_find(&table, 2)->seed, 5);
	assert_null(rule_table_find(&table, 0));
	assert_null(rule_table_find(&table, 3));
}

static void test_whom_rules_concern(void **state)
{
	(void)state;
	assert_int_equal(add(&user, "drop"), 0);
	assert_true(rule_table_concerns(&table, USER));
	assert_false(rule_table_concerns(&table, 0));
	assert_int_equal(add(&root, "delay=1ms"), 0);
	assert_true(rule_table_concerns(&table, 0));
	rule_table_fill(&table, 0, &sent);
	assert_int_equal(sent.rules[0].id, 0);
	assert_int_equal(sent.rules[1].id, 2);
	assert_string_equal(sent.rules[1].text, "delay=1ms");
	rule_table_fill(&table, USER, &sent);
	assert_int_equal(sent.rules[0].id, 1);
	assert_int_equal(sent.rules[1].id, 2);
	assert_int_equal(rule_table_clear(&table, &user), 1);
	assert_non_null(rule_table_find(&table, 2));
	assert_int_equal(rule_table_clear(&table, &root), 1);
}

/* A rule for calls is none for device processes, but has a slot and hits like all. */
static void test_rules_for_calls(void **state)
{
	static struct rule_reader reader;
	struct rule_needs needs;
	struct rnic_verb_rule verb;

	(void)state;
	assert_int_equal(rule_table_needs("fail=5/pid=7,cq:delay=1s/pid=8", 1, &needs, reason,
					  sizeof(reason)),
			 0);
	assert_false(needs.has_process);
	assert_int_equal(needs.pid_count, 2);
	assert_int_equal(needs.pids[1], 8);
	assert_int_equal(rule_table_needs("fail=5,drop", 1, &needs, reason, sizeof(reason)), 0);
	assert_true(needs.has_process);
	assert_int_equal(rule_table_needs("fail=5,lose", 1, &needs, reason, sizeof(reason)),
			 -EINVAL);
	assert_int_equal(add(&user, "fail=ENOMEM@reg_mr"), 0);
	assert_false(rule_table_concerns(&table, USER));
	rule_table_fill(&table, USER, &sent);
	assert_int_equal(sent.rules[0].id, 0);
	rule_table_fill_verb(&table, 0, USER, &verb);
	assert_int_equal(verb.id, 1);
	assert_int_equal(verb.action, RNIC_VERB_FAIL);
	rule_table_fill_verb(&table, 0, USER + 1, &verb);
	assert_int_equal(verb.id, 0);
	rule_table_count_hits(&table, &reader, 0, 1, 3);
	rule_table_count_hits(&table, &reader, 0, 1, 2);
	rule_table_count_hits(&table, &reader, 0, 2, 9);
	assert_int_equal(rule_table_find(&table, 1)->hits, 3);
}

/* Of the two orders of an end, a device inside its program has one. */
static void test_rules_for_ends(void **state)
{
	struct rnic_verb_rule verb;

	(void)state;
	assert_int_equal(add(&user, "end=queue-pairs-first"), 0);
	assert_true(rule_table_concerns(&table, USER));
	assert_false(rule_table_needs_process(&table, USER));
	assert_int_equal(add(&user, "end=memory-first/hold=1ms"), 0);
	assert_true(rule_table_needs_process(&table, USER));
	assert_false(rule_table_needs_process(&table, USER + 1));
	assert_false(rule_table_find(&table, 2)->is_for_packets);
	rule_table_fill(&table, USER, &sent);
	assert_int_equal(sent.rules[1].id, 2);
	assert_string_equal(sent.rules[1].text, "end=memory-first/hold=1ms");
	rule_table_fill_verb(&table, 1, USER, &verb);
	assert_int_equal(verb.id, 0);
}

/* The control plane sends the packets of queue pair 1, also for a device inside its program. */
static void test_rules_for_the_connection_manager(void **state)
{
	struct rule_needs needs;

	(void)state;
	assert_int_equal(rule_table_needs("drop/qpn=1,rx:delay=1ms/qpn=1", 1, &needs, reason,
					  sizeof(reason)),
			 0);
	assert_false(needs.has_process);
	assert_int_equal(
		rule_table_needs("drop/qpn=1,drop/qpn=2", 1, &needs, reason, sizeof(reason)), 0);
	assert_true(needs.has_process);
	assert_int_equal(add(&user, "drop/qpn=1"), 0);
	assert_false(rule_table_needs_process(&table, USER));
	assert_true(rule_table_find(&table, 1)->is_for_packets);
}

static void test_bounds(void **state)
{
	(void)state;
	for (int i = 0; i < RULE_TABLE_USER_MAX; i++)
		assert_int_equal(add(&user, "drop"), 0);
	assert_int_equal(add(&user, "drop"), -EDQUOT);
	for (int i = RULE_TABLE_USER_MAX; i < RNIC_RULES_MAX; i++)
		assert_int_equal(add(&root, "drop"), 0);
	assert_int_equal(add(&root, "drop"), -EDQUOT);
	rule_table_remove(&table, 1);
	assert_int_equal(add(&root, "drop"), 0);
	assert_int_equal(first, RNIC_RULES_MAX + 1);
}

/* Users leave room for root, and the subordinate ids of a user share with the user. */
static void test_shares(void **state)
{
	const struct rule_owner subordinate = {.uid = 100000, .account = USER};

	(void)state;
	for (int i = 0; i < RULE_TABLE_USER_MAX; i++)
		assert_int_equal(add(i % 2 == 0 ? &user : &subordinate, "drop"), 0);
	assert_int_equal(add(&user, "drop"), -EDQUOT);
	assert_int_equal(add(&subordinate, "drop"), -EDQUOT);
	for (uid_t i = RULE_TABLE_USER_MAX; i < RULE_TABLE_USERS_MAX; i++) {
		const struct rule_owner other = {.uid = USER + i, .account = USER + i};

		assert_int_equal(add(&other, "drop"), 0);
	}
	assert_int_equal(add(&(struct rule_owner){.uid = 1, .account = 1}, "drop"), -EDQUOT);
	for (int i = RULE_TABLE_USERS_MAX; i < RNIC_RULES_MAX; i++)
		assert_int_equal(add(&root, "drop"), 0);
	/* Whom rules concern is another question than whose share they take. */
	assert_int_equal(rule_table_clear(&table, &subordinate), RULE_TABLE_USER_MAX / 2);
	assert_int_equal(add(&user, "drop"), 0);
}

/* A page counts for the rule that it names, and only upwards. */
static void test_hits(void **state)
{
	static struct rnic_stats_page stats;
	static struct rule_reader readers[2];

	(void)state;
	assert_int_equal(add(&root, "drop"), 0);
	rnic_stats_rule_store(&stats.rules[0], 1, 5);
	rule_table_count(&table, &readers[0], &stats);
	rule_table_count(&table, &readers[0], &stats);
	assert_int_equal(table.entries[0].hits, 5);
	rule_table_count(&table, &readers[1], &stats);
	assert_int_equal(table.entries[0].hits, 10);
	rnic_stats_rule_store(&stats.rules[0], 1, 2);
	rule_table_count(&table, &readers[0], &stats);
	assert_int_equal(table.entries[0].hits, 10);
	rule_table_remove(&table, 1);
	assert_int_equal(add(&root, "drop"), 0);
	rule_table_count(&table, &readers[0], &stats);
	assert_int_equal(table.entries[0].hits, 0);
	rnic_stats_rule_store(&stats.rules[0], 2, 3);
	rule_table_count(&table, &readers[0], &stats);
	assert_int_equal(table.entries[0].hits, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_or_none, set_up),
		cmocka_unit_test_setup(test_whom_rules_concern, set_up),
		cmocka_unit_test_setup(test_rules_for_calls, set_up),
		cmocka_unit_test_setup(test_rules_for_ends, set_up),
		cmocka_unit_test_setup(test_rules_for_the_connection_manager, set_up),
		cmocka_unit_test_setup(test_bounds, set_up),
		cmocka_unit_test_setup(test_shares, set_up),
		cmocka_unit_test_setup(test_hits, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
