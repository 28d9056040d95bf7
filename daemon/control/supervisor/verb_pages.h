/* SPDX-License-Identifier: MIT */
/*
 * The two files by which clients of a device process learn the rules for their calls and
 * completions, and tell how often these acted (proto/base/verb_rules.h). The object owns mappings
 * and descriptors; the descriptors stay open, since each new client gets copies.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_VERB_PAGES_H
#define DAEMON_CONTROL_SUPERVISOR_VERB_PAGES_H

#include "daemon/control/supervisor/rule_table.h"
#include "daemon/control/supervisor/shared_page.h"

struct verb_pages {
	struct shared_page rules;
	struct shared_page hits;
};

/* Pages that are closed. */
void verb_pages_init(struct verb_pages *pages);

/* Makes both. Negative errno of shared_page_open(): nothing is open then. */
int verb_pages_open(struct verb_pages *pages);

void verb_pages_close(struct verb_pages *pages);

/*
 * Writes the rules that concern the programs of the user, unless the pages are closed. The window
 * of a rule that is new there begins at `now_ns`.
 */
void verb_pages_write(struct verb_pages *pages, const struct rule_table *table, uid_t uid,
		      uint64_t now_ns);

/* Adds the hits that the clients tell, unless the pages are closed. */
void verb_pages_count(const struct verb_pages *pages, struct rule_table *table,
		      struct rule_reader *reader);

/*
 * Stores copies of both descriptors at `fds`, the caller's. -ENODEV: the pages are closed; or an
 * errno of fcntl(2), and there are no copies.
 */
int verb_pages_share(const struct verb_pages *pages, int fds[2]);

#endif
