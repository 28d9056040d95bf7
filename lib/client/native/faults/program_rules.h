/* SPDX-License-Identifier: MIT */
/*
 * Rules of faults for the calls and completions of this program (proto/base/verb_rules.h). The data
 * path and control calls look at one shared word, and come here only while some rule is loaded. The
 * shared pages are not trusted: a rule is copied and checked once, when the pages have news.
 *
 * A context owns its object, and its counts are those of the context.
 */
#ifndef LIB_CLIENT_NATIVE_FAULTS_PROGRAM_RULES_H
#define LIB_CLIENT_NATIVE_FAULTS_PROGRAM_RULES_H

#include "lib/client/native/spinlock.h"
#include "proto/base/verb_rules.h"
#include "proto/ctl/ctl_message.h"

#include <stddef.h>

/* A rule as this program keeps it. */
struct known_rule {
	struct rnic_verb_rule rule; /* id 0: none that concerns the program */
	uint64_t seen;
	uint64_t hits;
};

struct verb_rules {
	const struct rnic_verb_rules_page *page;
	struct rnic_verb_hits_page *hits;
	uint32_t pid; /* as the daemon sees this program */
	char program[RNIC_CTL_NAME_BYTES];
	struct rnic_spinlock lock; /* guards what follows, and the change of these three */
	_Atomic uint32_t sequence; /* of the page, when the rules were taken */
	_Atomic uint64_t calls[RNIC_VERB_ACTION_COUNT]; /* that some rule has, by action */
	/*
	 * Those of all actions but FAIL, by the last byte of a queue pair's number, and by the one
	 * before: what both tables have may concern a rule.
	 */
	_Atomic uint64_t works_low[256];
	_Atomic uint64_t works_middle[256];
	struct known_rule rules[RNIC_VERB_RULES_MAX];
	uint8_t slots[RNIC_VERB_RULES_MAX]; /* of the rules that there are */
	uint32_t slot_count;
};

/*
 * Maps the pages of the descriptors, which stay the caller's. NULL: no memory, or the descriptors
 * are others.
 */
struct verb_rules *verb_rules_create(const int fds[2], uint32_t pid,
				     const char program[RNIC_CTL_NAME_BYTES]);
void verb_rules_destroy(struct verb_rules *rules);

/* Whether some rule of the kind is loaded, for this program or another one of the user. */
static inline bool verb_rules_have(const struct verb_rules *rules, enum rnic_verb_kind kind)
{
	return rules != NULL && (atomic_load_explicit(&rules->page->kinds, memory_order_relaxed) &
				 (uint32_t)kind) != 0;
}

/* Lets the rules judge a call. Returns 0, or the negative errno with which the call is to fail. */
int verb_rules_refuse(struct verb_rules *rules, enum rnic_verb_call call);

/*
 * The same for the call that makes this request to the daemon; stores the rule's number. Requests
 * that no function of libibverbs or librdmacm stands for are never refused.
 */
int verb_rules_refuse_operation(struct verb_rules *rules, enum rnic_ctl_operation operation,
				uint32_t *rule);

/* Whether some rule may apply to completions of this queue pair and opcode. Takes no lock. */
bool verb_rules_concern_work(struct verb_rules *rules, uint32_t qpn, uint32_t wc_opcode);

/*
 * Lets the rules of one action judge a completion. Returns whether some acts, and then stores its
 * `value` at `effect`, or of DELAY the time in nanoseconds. Takes no lock where no rule may apply.
 */
bool verb_rules_complete(struct verb_rules *rules, enum rnic_verb_action action, uint32_t qpn,
			 uint32_t wc_opcode, uint64_t *effect);

#endif
