/* SPDX-License-Identifier: MIT */
/*
 * What a kind of work may cost a user of a processor's time: one part in so many, and a burst at
 * once for a user who has asked for little. A user whose share is used up waits until the share has
 * paid. One client of the user waits for that time. The others wait behind that client, in the
 * order in which they asked, and cost nothing meanwhile.
 *
 * Pure: the caller measures, and names the time.
 */
#ifndef DAEMON_SHARED_QUOTA_PROCESSOR_SHARE_H
#define DAEMON_SHARED_QUOTA_PROCESSOR_SHARE_H

#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct processor_share_rule {
	uint32_t parts;	   /* the share is one part in so many */
	uint64_t burst_ns; /* of a processor's time, at once */
};

struct processor_share {
	const struct processor_share_rule *rule;
	uint64_t paid_ns;    /* the time at which all that was used is paid */
	uint32_t debtor;     /* the client whose request waits for that; 0: none */
	struct list waiting; /* struct request_connection.resume: requests behind the debtor's */
};

void processor_share_init(struct processor_share *share, const struct processor_share_rule *rule);

/*
 * Notes what work for the user has cost. What is owed beyond four bursts is forgiven: a user who
 * stops waits for no longer than that takes to pay.
 */
void processor_share_charge(struct processor_share *share, uint64_t cpu_ns, uint64_t now_ns);

/* Charges as much as a share can owe. */
void processor_share_exhaust(struct processor_share *share, uint64_t now_ns);

/*
 * Whether a request of the client `client_id` may go on. 0: yes. -EAGAIN: not yet; ask again after
 * a while. -EBUSY: another client of the user waits so; wait in share->waiting.
 */
int processor_share_ask(struct processor_share *share, uint32_t client_id, uint64_t now_ns);

/* The client waits no longer, if it is the debtor. */
void processor_share_leave(struct processor_share *share, uint32_t client_id);

/* Whether everything that was used is paid. */
bool processor_share_is_paid(const struct processor_share *share, uint64_t now_ns);

/* Whether more than two bursts are owed: requests that wait in turn owe little more than one. */
bool processor_share_is_overdrawn(const struct processor_share *share, uint64_t now_ns);

#endif
