/* SPDX-License-Identifier: MIT */
/*
 * What went wrong for the programs of a device, for the person who looks for the cause: queue pairs
 * that failed or dropped something, requests, connections and packets that were refused. Each is a
 * line of the log, and the last ones are kept for rnicctl, since the program that they are about
 * has often ended.
 *
 * Owned by the set of clients. Bounded: the oldest gives way, and of a program with half of them
 * its own.
 */
#ifndef DAEMON_CLIENT_TROUBLE_LOG_H
#define DAEMON_CLIENT_TROUBLE_LOG_H

#include "ctl/ctl_message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TROUBLE_LOG_MAX		   32
#define TROUBLE_LOG_DELIVERIES_MAX 16 /* new ones in a minute */

struct trouble {
	uint64_t at_ns;
	uint64_t logged_ns;
	pid_t pid;
	uid_t uid;
	bool is_of_all;	       /* of the device: everybody may know */
	int undelivered_error; /* what the network says of the subject; 0: it is something else */
	char program[RNIC_CTL_NAME_BYTES];
	char subject[RNIC_TROUBLE_SUBJECT_BYTES];
	char reason[RNIC_CTL_TEXT_BYTES];
};

struct trouble_log {
	struct trouble entries[TROUBLE_LOG_MAX];
	uint32_t count;					     /* ever noted */
	uint64_t undelivered_ns[TROUBLE_LOG_DELIVERIES_MAX]; /* when the last of them were noted */
	uint32_t undelivered_count;			     /* ever noted */
};

/*
 * Notes a trouble. The same again only counts as now, and is logged now and then.
 */
void trouble_log_note(struct trouble_log *trouble_log, const struct trouble *trouble);

/* Whether a trouble that the network tells of, which anybody can invent, is noted already or one of
 * the TROUBLE_LOG_DELIVERIES_MAX new ones of a minute, and counts it. */
bool trouble_log_may_note(struct trouble_log *trouble_log, const struct trouble *trouble);

/* The trouble that `n` others came after; NULL when there are not that many. */
const struct trouble *trouble_nth(const struct trouble_log *trouble_log, uint32_t n);

#endif
