/* SPDX-License-Identifier: MIT */
#include "daemon/shared/quota/processor_share.h"

#include <errno.h>

#define OWED_BURSTS_MAX	 4
#define OVERDRAWN_BURSTS 2

void processor_share_init(struct processor_share *share, const struct processor_share_rule *rule)
{
	*share = (struct processor_share){.rule = rule};
	list_init(&share->waiting);
}

/* The time that the share needs to pay for `bursts` bursts. */
static uint64_t processor_share_time_ns(const struct processor_share *share, uint32_t bursts)
{
	return share->rule->burst_ns * share->rule->parts * bursts;
}

/* For how much longer than the time of `bursts` bursts the share has to pay. */
static bool processor_share_owes(const struct processor_share *share, uint32_t bursts,
				 uint64_t now_ns)
{
	return share->paid_ns > now_ns + processor_share_time_ns(share, bursts);
}

void processor_share_charge(struct processor_share *share, uint64_t cpu_ns, uint64_t now_ns)
{
	if (share->paid_ns < now_ns)
		share->paid_ns = now_ns;
	share->paid_ns += cpu_ns * share->rule->parts;
	if (processor_share_owes(share, OWED_BURSTS_MAX, now_ns))
		processor_share_exhaust(share, now_ns);
}

void processor_share_exhaust(struct processor_share *share, uint64_t now_ns)
{
	share->paid_ns = now_ns + processor_share_time_ns(share, OWED_BURSTS_MAX);
}

int processor_share_ask(struct processor_share *share, uint32_t client_id, uint64_t now_ns)
{
	if (share->debtor != 0 && share->debtor != client_id)
		return -EBUSY;
	share->debtor = processor_share_owes(share, 1, now_ns) ? client_id : 0;
	return share->debtor == 0 ? 0 : -EAGAIN;
}

void processor_share_leave(struct processor_share *share, uint32_t client_id)
{
	if (share->debtor == client_id)
		share->debtor = 0;
}

bool processor_share_is_paid(const struct processor_share *share, uint64_t now_ns)
{
	return share->paid_ns <= now_ns;
}

bool processor_share_is_overdrawn(const struct processor_share *share, uint64_t now_ns)
{
	return processor_share_owes(share, OVERDRAWN_BURSTS, now_ns);
}
