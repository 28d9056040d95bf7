/* SPDX-License-Identifier: MIT */
/* The pages by which programs learn rules: whose rules they have, and what clients cannot do. */
#include "daemon/control/supervisor/verb_pages.h"

#include "proto/base/verb_rules.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define USER 1000u
#define NOW  UINT64_C(7000)

static const struct rule_owner root = {.uid = 0, .is_of_all = true};
static const struct rule_owner user = {.uid = USER};
static const struct rule_owner other = {.uid = USER + 1};
static struct rule_table table;
static struct rule_reader reader;
static struct verb_pages pages;
static int fds[2];

static int set_up(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	memset(&reader, 0, sizeof(reader));
	verb_pages_init(&pages);
	assert_int_equal(verb_pages_share(&pages, fds), -ENODEV);
	verb_pages_write(&pages, &table, USER, NOW);
	verb_pages_count(&pages, &table, &reader);
	assert_int_equal(verb_pages_open(&pages), 0);
	assert_int_equal(verb_pages_share(&pages, fds), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	verb_pages_close(&pages);
	close(fds[0]);
	close(fds[1]);
	return 0;
}

static void load(const struct rule_owner *owner, const char *spec, uint64_t now_ns)
{
	uint32_t first, count;
	char reason[160];

	assert_int_equal(
		rule_table_add(&table, owner, spec, 1, &first, &count, reason, sizeof(reason)), 0);
	verb_pages_write(&pages, &table, USER, now_ns);
}

static void test_rules(void **state)
{
	const struct rnic_verb_rules_page *page = pages.rules.address;

	(void)state;
	load(&root, "drop=1%", NOW);
	load(&other, "fail=ENOMEM", NOW);
	assert_int_equal(page->kinds, 0);
	assert_int_equal(page->rules[1].id, 0);
	load(&user, "fail=ENOMEM@post", NOW);
	assert_int_equal(page->kinds, RNIC_VERB_KIND_POSTS);
	assert_int_equal(page->sequence % 2, 0);
	load(&root, "cq:delay=1ms", NOW + 1);
	assert_int_equal(page->kinds, RNIC_VERB_KIND_POSTS | RNIC_VERB_KIND_COMPLETIONS);
	assert_int_equal(page->rules[2].id, 3);
	assert_int_equal(page->rules[2].loaded_ns, NOW);
	assert_int_equal(page->rules[3].loaded_ns, NOW + 1);
	rule_table_clear(&table, &root);
	verb_pages_write(&pages, &table, USER, NOW);
	assert_int_equal(page->kinds, 0);
}

/* A client can read the rules, and neither write nor shrink what the control plane uses. */
static void test_rights(void **state)
{
	const size_t bytes = sizeof(struct rnic_verb_rules_page);
	void *mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fds[0], 0);

	(void)state;
	assert_true(mapped != MAP_FAILED);
	assert_int_not_equal(mprotect(mapped, bytes, PROT_READ | PROT_WRITE), 0);
	munmap(mapped, bytes);
	assert_true(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0) == MAP_FAILED);
	assert_int_equal(pwrite(fds[0], "x", 1, 0), -1);
	assert_int_not_equal(ftruncate(fds[0], 0), 0);
	assert_int_not_equal(ftruncate(fds[1], 0), 0);
}

/* Hits are a claim: they only grow, and of a rule that is loaded. */
static void test_hits(void **state)
{
	struct rnic_verb_hits_page *page =
		mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);

	(void)state;
	assert_true(page != MAP_FAILED);
	load(&user, "fail=ENOMEM", NOW);
	memset((void *)page, 0xff, sizeof(*page));
	verb_pages_count(&pages, &table, &reader);
	assert_int_equal(rule_table_find(&table, 1)->hits, 0);
	page->words[0] = UINT64_C(1) << 32 | 5;
	verb_pages_count(&pages, &table, &reader);
	page->words[0] = UINT64_C(1) << 32 | 2;
	verb_pages_count(&pages, &table, &reader);
	assert_int_equal(rule_table_find(&table, 1)->hits, 5);
	munmap(page, sizeof(*page));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rules, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_rights, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hits, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
