/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/verb_pages.h"

#include "proto/base/verb_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

_Static_assert(RNIC_VERB_RULES_MAX == RNIC_RULES_MAX, "each slot has its place");

void verb_pages_init(struct verb_pages *pages)
{
	*pages = (struct verb_pages){.rules = {.fd = -1}, .hits = {.fd = -1}};
}

int verb_pages_open(struct verb_pages *pages)
{
	int result = shared_page_open(&pages->rules, "rnic-verb-rules",
				      sizeof(struct rnic_verb_rules_page), SHARED_PAGE_OF_CONTROL);

	if (result == 0)
		result =
			shared_page_open(&pages->hits, "rnic-verb-hits",
					 sizeof(struct rnic_verb_hits_page), SHARED_PAGE_OF_DEVICE);
	if (result == 0)
		((struct rnic_verb_rules_page *)pages->rules.address)->magic =
			RNIC_VERB_RULES_MAGIC;
	else
		verb_pages_close(pages);
	return result;
}

void verb_pages_close(struct verb_pages *pages)
{
	shared_page_close(&pages->rules);
	shared_page_close(&pages->hits);
}

/* A reader takes rules between two looks at the same even number. */
static void verb_pages_change(struct rnic_verb_rules_page *page)
{
	atomic_fetch_add_explicit(&page->sequence, 1, memory_order_acq_rel);
	atomic_thread_fence(memory_order_release);
}

void verb_pages_write(struct verb_pages *pages, const struct rule_table *table, uid_t uid,
		      uint64_t now_ns)
{
	struct rnic_verb_rules_page *page = pages->rules.address;
	uint32_t kinds = 0;

	if (page == NULL)
		return;
	verb_pages_change(page);
	for (uint32_t i = 0; i < RNIC_VERB_RULES_MAX; i++) {
		struct rnic_verb_rule *rule = &page->rules[i];
		const uint64_t loaded_ns = rule->loaded_ns;
		const uint32_t known = rule->id;

		rule_table_fill_verb(table, i, uid, rule);
		rule->loaded_ns = rule->id == known ? loaded_ns : now_ns;
		kinds |= rnic_verb_rule_kinds(rule);
	}
	verb_pages_change(page);
	atomic_store_explicit(&page->kinds, kinds, memory_order_release);
}

void verb_pages_count(const struct verb_pages *pages, struct rule_table *table,
		      struct rule_reader *reader)
{
	const struct rnic_verb_hits_page *page = pages->hits.address;

	for (uint32_t i = 0; page != NULL && i < RNIC_VERB_RULES_MAX; i++) {
		const uint64_t word = atomic_load_explicit(&page->words[i], memory_order_relaxed);

		rule_table_count_hits(table, reader, i, (uint32_t)(word >> 32), (uint32_t)word);
	}
}

int verb_pages_share(const struct verb_pages *pages, int fds[2])
{
	int error;

	if (pages->rules.fd < 0)
		return -ENODEV;
	fds[0] = fcntl(pages->rules.fd, F_DUPFD_CLOEXEC, 0);
	if (fds[0] < 0)
		return -errno;
	fds[1] = fcntl(pages->hits.fd, F_DUPFD_CLOEXEC, 0);
	if (fds[1] >= 0)
		return 0;
	error = -errno;
	close(fds[0]);
	return error;
}
