/* SPDX-License-Identifier: MIT */
/*
 * The rules of faults that are loaded, by slot, and how often each acted. A rule concerns the
 * packets of all, or those of the device process of the user who loaded the rule; a rule for calls
 * or completions, or for the end of programs, concerns programs in the same way. Owned by the
 * device set.
 *
 * The hits are what statistics pages say, which are not trusted: a rule's hits never shrink, and a
 * page reaches the rules that are loaded alone.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_RULE_TABLE_H
#define DAEMON_CONTROL_SUPERVISOR_RULE_TABLE_H

#include "proto/base/verb_rules.h"
#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of a user who is neither root nor the daemon's, and of all such users: these leave room. */
#define RULE_TABLE_USER_MAX  8
#define RULE_TABLE_USERS_MAX 48

/* Who loads a rule, and whom it concerns. */
struct rule_owner {
	uid_t uid;
	uid_t account;	/* as whom the user counts (subordinate_ids.h) */
	bool is_of_all; /* root or the daemon's user */
};

struct rule_entry {
	uint32_t id; /* 0: the slot is free */
	struct rule_owner owner;
	uint64_t seed;
	uint64_t hits;
	uint32_t actor;		    /* as in rnic_show_fault */
	struct rnic_verb_rule verb; /* for calls or completions; else its action is NONE */
	bool is_for_packets;
	bool needs_process; /* has no effect where the device is inside the program */
	char text[RNIC_RULE_TEXT_BYTES];
};

struct rule_table {
	struct rule_entry entries[RNIC_RULES_MAX];
	uint32_t last_id;
};

/* What a statistics page has told so far. */
struct rule_reader {
	uint8_t lane; /* of the process that has the page */
	uint32_t ids[RNIC_RULES_MAX];
	uint64_t hits[RNIC_RULES_MAX];
};

/*
 * Loads the rules of `spec`, which is line `line` of a file: all or none. Their ids are `first` and
 * the next `count` - 1 ones. -EINVAL for a text that is none, -EDQUOT; with a sentence in `reason`.
 */
int rule_table_add(struct rule_table *table, const struct rule_owner *owner, const char *spec,
		   uint32_t line, uint32_t *first, uint32_t *count, char *reason,
		   size_t reason_bytes);

/* What a text of rules asks for. */
struct rule_needs {
	bool has_process;	       /* some rule needs a device process */
	uint32_t pids[RNIC_RULES_MAX]; /* of the programs that the rules name */
	uint32_t pid_count;
};

/* Looks into a text without loading its rules. -EINVAL with a sentence in `reason`. */
int rule_table_needs(const char *spec, uint32_t line, struct rule_needs *needs, char *reason,
		     size_t reason_bytes);

/* The rule with that id; NULL: there is none. */
const struct rule_entry *rule_table_find(const struct rule_table *table, uint32_t id);

/* Unloads a rule that rule_table_find() finds. */
void rule_table_remove(struct rule_table *table, uint32_t id);

/* Unloads the user's own rules, or all. Returns how many. */
uint32_t rule_table_clear(struct rule_table *table, const struct rule_owner *owner);

/* Whether some rule that needs a device process concerns the programs of the user. */
bool rule_table_needs_process(const struct rule_table *table, uid_t uid);

/* Whether some rule for packets, or for ends, concerns the device process of the user. */
bool rule_table_concerns(const struct rule_table *table, uid_t uid);

/* Fills in the rules for packets and ends that concern the device process of the user. */
void rule_table_fill(const struct rule_table *table, uid_t uid, struct rnic_process_rules *rules);

/* Fills in the rule in `slot`, if it is for calls or completions of the user's programs. */
void rule_table_fill_verb(const struct rule_table *table, uint32_t slot, uid_t uid,
			  struct rnic_verb_rule *rule);

/* The rule `id` in `slot` has acted so often, says one that is not trusted. */
void rule_table_count_hits(struct rule_table *table, struct rule_reader *reader, uint32_t slot,
			   uint32_t id, uint64_t hits);

/* Adds the hits that the page has more than before. */
void rule_table_count(struct rule_table *table, struct rule_reader *reader,
		      const struct rnic_stats_page *stats);

#endif
