/* SPDX-License-Identifier: MIT */
/*
 * The troubles of the programs of a device, for the person who looks for a cause: queue pairs that
 * failed or dropped something, and refused requests, connections and packets. Each trouble is a
 * line of the log, which ends in the name of its cause. The last ones are kept for rnicctl, because
 * the program concerned has often ended.
 *
 * The set of clients owns the list. The list is bounded: a new trouble replaces the oldest one of
 * the program that has most of them, of the user who has most of them. The subordinate ids of one
 * owner are one user.
 */
#ifndef DAEMON_CONTROL_CLIENTS_TROUBLE_LOG_H
#define DAEMON_CONTROL_CLIENTS_TROUBLE_LOG_H

#include "proto/base/causes.h"
#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TROUBLE_LOG_MAX		   32
#define TROUBLE_LOG_DELIVERIES_MAX 16 /* new troubles from the network in a minute */

struct trouble {
	uint64_t at_ns;
	uint64_t logged_ns;
	pid_t pid;
	uid_t uid;
	uid_t account;	       /* the user as whom `uid` counts: subordinate_ids.h */
	bool is_of_all;	       /* concerns the device: every user may know */
	int undelivered_error; /* the network's error for the subject; 0: another kind of trouble */
	enum rnic_cause cause;
	char program[RNIC_CTL_NAME_BYTES];
	char subject[RNIC_TROUBLE_SUBJECT_BYTES];
	char reason[RNIC_CTL_TEXT_BYTES];
};

struct trouble_log {
	struct trouble entries[TROUBLE_LOG_MAX];
	uint32_t count;					     /* in `entries` */
	uint64_t undelivered_ns[TROUBLE_LOG_DELIVERIES_MAX]; /* times of the last of them */
	uint32_t undelivered_count;			     /* ever noted */
};

/*
 * Notes a trouble. A repeated trouble only updates count and time, and appears in the log now and
 * then.
 */
void trouble_log_note(struct trouble_log *trouble_log, const struct trouble *trouble);

/*
 * Returns whether the list may note a trouble that the network reports, which anybody can invent:
 * the trouble is noted already, or is one of the TROUBLE_LOG_DELIVERIES_MAX new ones of a minute.
 * Counts a new one.
 */
bool trouble_log_may_note(struct trouble_log *trouble_log, const struct trouble *trouble);

/* Returns the trouble with `n` newer ones; NULL when there are not that many. */
const struct trouble *trouble_nth(const struct trouble_log *trouble_log, uint32_t n);

#endif
