/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/cm_journal.h"

#include <stddef.h>
#include <string.h>

/* The user's share; else a free one, or that of the user who was silent for longest, emptied. */
static struct cm_journal_share *cm_journal_share_of(struct cm_journal *journal, uid_t account,
						    bool is_of_device)
{
	struct cm_journal_share *found = &journal->shares[0];

	for (uint32_t i = 0; i < CM_JOURNAL_USERS; i++) {
		struct cm_journal_share *share = &journal->shares[i];

		if (share->used_ns != 0 && share->is_of_device == is_of_device &&
		    (is_of_device || share->account == account))
			return share;
		if (share->used_ns < found->used_ns)
			found = share;
	}
	found->account = account;
	found->is_of_device = is_of_device;
	found->count = 0;
	return found;
}

static bool is_again(const struct cm_journal_entry *last, const struct cm_journal_entry *entry)
{
	return last->client_id == entry->client_id && last->uid == entry->uid &&
	       last->is_late == entry->is_late && last->qpn == entry->qpn &&
	       last->peer_qpn == entry->peer_qpn && last->port == entry->port &&
	       last->reason == entry->reason && last->is_sent == entry->is_sent &&
	       last->kind == entry->kind;
}

void cm_journal_note(struct cm_journal *journal, uid_t account, bool is_of_device,
		     const struct cm_journal_entry *entry)
{
	struct cm_journal_share *share = cm_journal_share_of(journal, account, is_of_device);
	struct cm_journal_entry *last = &share->entries[(share->count - 1) % CM_JOURNAL_ENTRIES];

	share->used_ns = entry->at_ns;
	if (share->count > 0 && is_again(last, entry)) {
		last->at_ns = entry->at_ns;
		if (last->run < UINT8_MAX)
			last->run++;
		return;
	}
	share->entries[share->count++ % CM_JOURNAL_ENTRIES] = *entry;
	if (share->count == 2 * CM_JOURNAL_ENTRIES)
		share->count = CM_JOURNAL_ENTRIES;
}

const struct cm_journal_entry *cm_journal_nth(const struct cm_journal_share *share, uint32_t n)
{
	const uint32_t kept = share->count < CM_JOURNAL_ENTRIES ? share->count : CM_JOURNAL_ENTRIES;

	if (share->used_ns == 0 || n >= kept)
		return NULL;
	return &share->entries[(share->count - kept + n) % CM_JOURNAL_ENTRIES];
}
