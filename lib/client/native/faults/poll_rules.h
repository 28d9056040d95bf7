/* SPDX-License-Identifier: MIT */
/*
 * Taking completions while rules of faults for completions are loaded (program_rules.h): what
 * rnic_poll.c does, with statuses that rules change, entries that come later or overtake, and
 * entries that stay occupied.
 */
#ifndef LIB_CLIENT_NATIVE_FAULTS_POLL_RULES_H
#define LIB_CLIENT_NATIVE_FAULTS_POLL_RULES_H

#include "lib/client/native/rnic_objects.h"

/*
 * Fills in the completion of an entry whose place was given back. False: its queue was destroyed,
 * and nobody wants to know.
 */
typedef bool poll_translate(const struct rnic_cq *cq, const struct rnic_cqe *entry,
			    uint64_t time_ns, struct rnic_completion *completion);

/*
 * Under the queue's lock: how many of the next entries are to be taken as if there were no rules,
 * at most `max_count`.
 */
uint32_t rnic_poll_unconcerned(const struct rnic_cq *cq, uint32_t max_count);

/*
 * Under the queue's lock. Returns how many entries it took, or -EIO when the daemon's index makes
 * no sense. With 0, `wait_ns` is the time for which a rule holds the first entry back; 0: there is
 * no entry.
 */
int rnic_poll_by_rules(struct rnic_cq *cq, uint32_t max_count, struct rnic_completion *completions,
		       poll_translate *translate, uint64_t *wait_ns);

/* Waits for a part of the time. The caller holds no lock, and polls then. */
void rnic_poll_hold_on(struct rnic_cq *cq, uint64_t wait_ns);

#endif
