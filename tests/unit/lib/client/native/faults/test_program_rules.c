/* SPDX-License-Identifier: MIT */
/* Rules for calls and completions, from pages that may hold anything. */
#include "lib/client/native/faults/program_rules.h"

#include "lib/wait/clock.h"
#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define PID 77
#define MS  UINT64_C(1000000)

static const char program[RNIC_CTL_NAME_BYTES] = "ib_write_bw";

struct pages {
	int fds[2];
	struct rnic_verb_rules_page *rules;
	struct rnic_verb_hits_page *hits;
	struct verb_rules *known;
};

static void *make_page(int *fd, size_t bytes)
{
	void *page;

	*fd = memfd_create("page", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(ftruncate(*fd, (off_t)bytes), 0);
	page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_true(page != MAP_FAILED);
	return page;
}

static int set_up(void **state)
{
	struct pages *pages = calloc(1, sizeof(*pages));

	assert_non_null(pages);
	pages->rules = make_page(&pages->fds[0], sizeof(*pages->rules));
	pages->hits = make_page(&pages->fds[1], sizeof(*pages->hits));
	pages->rules->magic = RNIC_VERB_RULES_MAGIC;
	pages->known = verb_rules_create(pages->fds, PID, program);
	assert_non_null(pages->known);
	*state = pages;
	return 0;
}

static int tear_down(void **state)
{
	struct pages *pages = *state;

	verb_rules_destroy(pages->known);
	munmap(pages->rules, sizeof(*pages->rules));
	munmap(pages->hits, sizeof(*pages->hits));
	close(pages->fds[0]);
	close(pages->fds[1]);
	free(pages);
	return 0;
}

static struct rnic_verb_rule fail_rule(uint32_t id, uint64_t calls)
{
	return (struct rnic_verb_rule){
		.id = id,
		.action = RNIC_VERB_FAIL,
		.calls = calls,
		.value = ENOMEM,
		.loaded_ns = clock_now_ns(),
		.often = {.every = 1, .chance_ppm = RNIC_RULE_ALWAYS_PPM},
	};
}

/* What the control plane does. */
static void load(struct pages *pages, uint32_t slot, struct rnic_verb_rule rule)
{
	uint32_t kinds = 0;

	atomic_fetch_add(&pages->rules->sequence, 1);
	pages->rules->rules[slot] = rule;
	for (uint32_t i = 0; i < RNIC_VERB_RULES_MAX; i++)
		if (pages->rules->rules[i].id != 0 &&
		    pages->rules->rules[i].action < RNIC_VERB_ACTION_COUNT)
			kinds |= rnic_verb_rule_kinds(&pages->rules->rules[i]);
	atomic_fetch_add(&pages->rules->sequence, 1);
	atomic_store(&pages->rules->kinds, kinds);
}

static int reg_mr(struct pages *pages)
{
	uint32_t rule;

	return verb_rules_refuse_operation(pages->known, RNIC_CTL_REGISTER_MR, &rule);
}

static void test_other_descriptors(void **state)
{
	struct pages *pages = *state;
	const int swapped[2] = {pages->fds[1], pages->fds[1]};
	const int none[2] = {-1, pages->fds[1]};

	assert_null(verb_rules_create(swapped, PID, program));
	assert_null(verb_rules_create(none, PID, program));
	pages->rules->magic++;
	assert_null(verb_rules_create(pages->fds, PID, program));
}

static void test_kinds(void **state)
{
	struct pages *pages = *state;

	assert_false(verb_rules_have(NULL, RNIC_VERB_KIND_CALLS));
	assert_false(verb_rules_have(pages->known, RNIC_VERB_KIND_CALLS));
	load(pages, 3, fail_rule(1, RNIC_VERB_CALLS_THAT_POST));
	assert_false(verb_rules_have(pages->known, RNIC_VERB_KIND_CALLS));
	assert_true(verb_rules_have(pages->known, RNIC_VERB_KIND_POSTS));
	assert_int_equal(verb_rules_refuse(pages->known, RNIC_VERB_POST_RECV), -ENOMEM);
	assert_int_equal(reg_mr(pages), 0);
}

static void test_nth_and_hits(void **state)
{
	struct pages *pages = *state;
	struct rnic_verb_rule rule = fail_rule(9, UINT64_C(1) << RNIC_VERB_REG_MR);
	uint32_t id = 0;

	rule.often.nth = 2;
	load(pages, 5, rule);
	assert_int_equal(reg_mr(pages), 0);
	/* Another rule comes: the first one counts on. */
	load(pages, 6, fail_rule(10, UINT64_C(1) << RNIC_VERB_ALLOC_PD));
	assert_int_equal(verb_rules_refuse_operation(pages->known, RNIC_CTL_REGISTER_MR, &id),
			 -ENOMEM);
	assert_int_equal(id, 9);
	assert_int_equal(reg_mr(pages), 0);
	assert_true(pages->hits->words[5] == (UINT64_C(9) << 32 | 1));
	/* The slot has another rule. */
	load(pages, 5, fail_rule(11, UINT64_C(1) << RNIC_VERB_REG_MR));
	assert_int_equal(reg_mr(pages), -ENOMEM);
	assert_int_equal(reg_mr(pages), -ENOMEM);
	assert_true(pages->hits->words[5] == (UINT64_C(11) << 32 | 2));
	assert_int_equal(
		verb_rules_refuse_operation(pages->known, RNIC_CTL_CREATE_QUEUE_REGION, &id), 0);
}

static void test_programs(void **state)
{
	struct pages *pages = *state;
	static const struct {
		uint32_t pid;
		const char *program;
		int result;
	} cases[] = {
		{PID, "", -ENOMEM},	     {PID + 1, "", 0},
		{0, "ib_write_bw", -ENOMEM}, {PID, "ib_write_bw", -ENOMEM},
		{0, "ib_write", 0},	     {PID, "ib_write_lat", 0},
	};

	for (uint32_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct rnic_verb_rule rule = fail_rule(i + 1, UINT64_C(1) << RNIC_VERB_REG_MR);

		rule.pid = cases[i].pid;
		memcpy(rule.program, cases[i].program, strlen(cases[i].program));
		load(pages, 0, rule);
		assert_int_equal(reg_mr(pages), cases[i].result);
	}
}

static void test_windows_and_chance(void **state)
{
	struct pages *pages = *state;
	struct rnic_verb_rule rule = fail_rule(1, UINT64_C(1) << RNIC_VERB_REG_MR);
	int failed = 0;

	rule.often.from_ns = UINT64_C(10000) * MS;
	load(pages, 0, rule);
	assert_int_equal(reg_mr(pages), 0);
	rule = fail_rule(2, UINT64_C(1) << RNIC_VERB_REG_MR);
	rule.loaded_ns -= 100 * MS;
	rule.often.for_ns = 50 * MS;
	load(pages, 0, rule);
	assert_int_equal(reg_mr(pages), 0);
	rule = fail_rule(3, UINT64_C(1) << RNIC_VERB_REG_MR);
	rule.often.chance_ppm = 250000;
	load(pages, 0, rule);
	for (int i = 0; i < 1000; i++)
		failed += reg_mr(pages) != 0;
	assert_in_range(failed, 200, 300);
}

static void test_completions(void **state)
{
	struct pages *pages = *state;
	struct rnic_verb_rule rule = fail_rule(1, UINT64_C(1) << RNIC_WC_SEND);
	uint64_t effect = 0;

	rule.action = RNIC_VERB_DELAY;
	rule.value = 0;
	rule.delay_ns = 10 * MS;
	rule.jitter_ns = 2 * MS;
	rule.has_qpn = 1;
	rule.qpn = 5;
	load(pages, 0, rule);
	assert_true(verb_rules_have(pages->known, RNIC_VERB_KIND_COMPLETIONS));
	assert_false(verb_rules_complete(pages->known, RNIC_VERB_DELAY, 6, RNIC_WC_SEND, &effect));
	assert_false(verb_rules_complete(pages->known, RNIC_VERB_DELAY, 5, RNIC_WC_RECV, &effect));
	assert_false(verb_rules_complete(pages->known, RNIC_VERB_STATUS, 5, RNIC_WC_SEND, &effect));
	for (int i = 0; i < 20; i++) {
		assert_true(verb_rules_complete(pages->known, RNIC_VERB_DELAY, 5, RNIC_WC_SEND,
						&effect));
		assert_in_range(effect, 8 * MS, 12 * MS);
	}
}

/* A program with 1000 queue pairs is not to wait at each completion for a rule that names one. */
static void test_other_queue_pairs_take_no_lock(void **state)
{
	static const uint32_t others[] = {0x512306, 0x512205};
	struct pages *pages = *state;
	struct rnic_verb_rule rule = fail_rule(1, UINT64_C(1) << RNIC_WC_SEND);
	uint64_t effect;

	rule.action = RNIC_VERB_STATUS;
	rule.has_qpn = 1;
	rule.qpn = 0x512305;
	load(pages, 0, rule);
	assert_true(verb_rules_concern_work(pages->known, rule.qpn, RNIC_WC_SEND));
	assert_false(verb_rules_concern_work(pages->known, rule.qpn, RNIC_WC_RECV));
	rnic_spinlock_lock(&pages->known->lock);
	alarm(10); /* ends a call that waits for the lock */
	for (size_t i = 0; i < RNIC_COUNT_OF(others); i++) {
		assert_false(verb_rules_concern_work(pages->known, others[i], RNIC_WC_SEND));
		assert_false(verb_rules_complete(pages->known, RNIC_VERB_STATUS, others[i],
						 RNIC_WC_SEND, &effect));
	}
	alarm(0);
	rnic_spinlock_unlock(&pages->known->lock);
	assert_true(verb_rules_complete(pages->known, RNIC_VERB_STATUS, rule.qpn, RNIC_WC_SEND,
					&effect));
	rule.id = 2;
	rule.has_qpn = 0;
	load(pages, 1, rule);
	assert_true(verb_rules_concern_work(pages->known, others[0], RNIC_WC_SEND));
	load(pages, 1, (struct rnic_verb_rule){0});
	assert_false(verb_rules_concern_work(pages->known, others[0], RNIC_WC_SEND));
}

/* A page that holds anything lets no rule act, and no call hang. */
static void test_hostile_pages(void **state)
{
	struct pages *pages = *state;
	struct rnic_verb_rule wrong[6];

	for (uint32_t i = 0; i < RNIC_COUNT_OF(wrong); i++)
		wrong[i] = fail_rule(i + 1, UINT64_MAX);
	wrong[0].action = RNIC_VERB_ACTION_COUNT;
	wrong[1].value = 4096;
	wrong[2].value = 0;
	wrong[3].often.every = 0;
	wrong[4].often.pattern_steps = 65;
	wrong[5].jitter_ns = 1;
	for (uint32_t i = 0; i < RNIC_COUNT_OF(wrong); i++) {
		load(pages, i, wrong[i]);
		assert_int_equal(reg_mr(pages), 0);
	}
	load(pages, 0, fail_rule(20, UINT64_MAX));
	assert_int_equal(reg_mr(pages), -ENOMEM);
	/* A writer that never ends: what was known stays. */
	atomic_fetch_add(&pages->rules->sequence, 1);
	memset(pages->rules->rules, 0xff, sizeof(pages->rules->rules));
	assert_int_equal(reg_mr(pages), -ENOMEM);
	atomic_fetch_add(&pages->rules->sequence, 1);
	assert_int_equal(reg_mr(pages), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_other_descriptors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nth_and_hits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_programs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_windows_and_chance, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_completions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_queue_pairs_take_no_lock, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_hostile_pages, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
