/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm/proven_address.h"

#include "daemon/control/cm/cm_state.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <stdlib.h>

#define BACKLOG_BEYOND 4

static struct peer_share *peer_share_find(const struct cm *cm, const struct cm_binding *binding,
					  const struct rnic_gid *peer)
{
	struct peer_node *node = peer_table_next(&cm->shares, peer, binding->owner, NULL);

	return node == NULL ? NULL : RNIC_CONTAINER_OF(node, struct peer_share, node);
}

/* The requests that count for the address. */
static uint32_t peer_share_used(struct peer_share *share, uint64_t now_ns)
{
	const uint64_t gap_ns = RNIC_NS_PER_SECOND / LIMIT_CM_FORGIVEN;
	const uint64_t forgiven = (now_ns - share->forgiven_ns) / gap_ns;

	share->failures = forgiven < share->failures ? share->failures - (uint32_t)forgiven : 0;
	share->forgiven_ns += forgiven * gap_ns;
	return share->unproven + share->failures;
}

static void peer_share_free(struct cm *cm, struct peer_share *share)
{
	cm->idle_share_count -= list_is_linked(&share->idle_node);
	list_remove(&share->idle_node);
	peer_table_remove(&share->node);
	free(share);
}

/* Frees the oldest ones of which nothing counts any more, or that are too many. */
static void sweep_idle_shares(struct cm *cm)
{
	while (!list_is_empty(&cm->idle_shares)) {
		struct peer_share *share =
			list_first_entry(&cm->idle_shares, struct peer_share, idle_node);

		if (peer_share_used(share, cm->now_ns) > 0 &&
		    cm->idle_share_count <= LIMIT_CM_IDLE_SHARES)
			break;
		peer_share_free(cm, share);
	}
}

static struct peer_share *peer_share_make(struct cm *cm, const struct cm_binding *binding,
					  const struct rnic_gid *peer)
{
	struct peer_share *share;

	sweep_idle_shares(cm);
	share = calloc(1, sizeof(*share));
	if (share == NULL)
		return NULL;
	share->forgiven_ns = cm->now_ns;
	peer_table_insert(&cm->shares, &share->node, peer, binding->owner);
	return share;
}

/*
 * The last quarter of a backlog is for addresses that do not have half of it. A backlog without a
 * quarter has BACKLOG_BEYOND places more, for addresses that have none.
 */
static bool leaves_room(const struct cm_binding *binding, uint32_t unanswered)
{
	const uint32_t kept = binding->backlog / 4;

	if (kept == 0 && unanswered == 0)
		return binding->pending_count < binding->backlog + BACKLOG_BEYOND;
	return binding->pending_count < binding->backlog - kept ||
	       (binding->pending_count < binding->backlog && unanswered < binding->backlog / 2);
}

bool proven_address_admits(struct cm *cm, const struct cm_binding *binding,
			   const struct rnic_gid *peer)
{
	struct peer_share *share = peer_share_find(cm, binding, peer);
	const uint32_t used = share == NULL ? 0 : peer_share_used(share, cm->now_ns);
	const uint32_t unanswered = share == NULL ? 0 : share->unanswered;

	if (used < LIMIT_CM_UNPROVEN && leaves_room(binding, unanswered))
		return true;
	if (binding->pending_count >= binding->backlog)
		cm->counters[CM_COUNTER_BACKLOG_FULL]++;
	else
		cm->counters[CM_COUNTER_PEER_SHARE]++;
	return false;
}

int proven_address_await(struct cm *cm, struct proven_address *address,
			 const struct cm_binding *binding, const struct rnic_gid *peer)
{
	struct peer_share *share = peer_share_find(cm, binding, peer);

	if (share == NULL)
		share = peer_share_make(cm, binding, peer);
	if (share == NULL)
		return -ENOMEM;
	cm->idle_share_count -= list_is_linked(&share->idle_node);
	list_remove(&share->idle_node);
	share->unproven++;
	share->unanswered++;
	*address = (struct proven_address){
		.is_unproven_of_share = true,
		.is_unanswered_of_share = true,
		.credit = CREDIT_OF_MESSAGE,
		.share = share,
	};
	return 0;
}

/* Leaves the share when the connection counts there no longer. */
static void proven_address_leave(struct cm *cm, struct proven_address *address)
{
	struct peer_share *share = address->share;

	if (address->is_unproven_of_share || address->is_unanswered_of_share)
		return;
	address->share = NULL;
	if (share->unproven + share->unanswered > 0)
		return;
	if (peer_share_used(share, cm->now_ns) == 0) {
		peer_share_free(cm, share);
		return;
	}
	list_add_tail(&cm->idle_shares, &share->idle_node);
	cm->idle_share_count++;
}

void proven_address_waive(struct cm *cm, struct proven_address *address)
{
	if (!address->is_unproven_of_share)
		return;
	address->is_unproven_of_share = false;
	address->share->unproven--;
	proven_address_leave(cm, address);
}

void proven_address_answered(struct cm *cm, struct proven_address *address)
{
	if (!address->is_unanswered_of_share)
		return;
	address->is_unanswered_of_share = false;
	address->share->unanswered--;
	proven_address_leave(cm, address);
}

void proven_address_heard(struct cm *cm, struct proven_address *address, bool is_proof)
{
	if (address->is_proven)
		return;
	if (is_proof) {
		address->is_proven = true;
		proven_address_waive(cm, address);
	} else if (address->credit <= UINT8_MAX - CREDIT_OF_MESSAGE) {
		address->credit += CREDIT_OF_MESSAGE;
	}
}

bool proven_address_spend(struct cm *cm, struct proven_address *address)
{
	if (address->is_proven)
		return true;
	if (address->credit == 0) {
		cm->counters[CM_COUNTER_HELD_BACK]++;
		return false;
	}
	address->credit--;
	return true;
}

void proven_address_end(struct cm *cm, struct proven_address *address)
{
	if (address->is_unproven_of_share)
		address->share->failures++;
	proven_address_waive(cm, address);
	proven_address_answered(cm, address);
}

void proven_address_fini(struct cm *cm)
{
	while (!list_is_empty(&cm->idle_shares))
		peer_share_free(cm,
				list_first_entry(&cm->idle_shares, struct peer_share, idle_node));
}
