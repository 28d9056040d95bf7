/* SPDX-License-Identifier: MIT */
/*
 * The GID table of a device, which follows the addresses of its interface. Pure: the device owns a
 * table, gives it the present addresses, and gets the slots that changed.
 *
 * Invariant: a slot means one address for as long as somebody refers to it by its index. An address
 * that goes while it is in use keeps its slot, unusable, and gets the slot again when it comes
 * back, as in the kernel's table. Only where the table is full of such slots, a new address takes
 * that of the address which has been gone for longest: else one user could keep all addresses of
 * the future from all others.
 */
#ifndef DAEMON_CONTROL_NETWORK_GID_TABLE_H
#define DAEMON_CONTROL_NETWORK_GID_TABLE_H

#include "proto/base/maxima.h"
#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

#define GID_TABLE_SLOTS RNIC_GIDS_MAX

struct gid_slot {
	struct rnic_gid gid; /* zero: the slot is free */
	bool is_usable;	     /* the interface has the address, or is about to have it */
	uint64_t gone;	     /* gid_table.gone_count of the time when it went; 0: it is there */
};

struct gid_table {
	struct gid_slot slots[GID_TABLE_SLOTS];
	uint32_t own_slot;   /* see gid_table_own() */
	uint32_t first;	     /* the slot from which a new address looks for a free one */
	uint64_t gone_count; /* addresses that ever went while they were in use */
};

/*
 * An address of the interface. While the kernel probes it for duplicates it is as good as any other
 * here: its packets get lost, and the senders repeat them.
 */
struct gid_address {
	struct rnic_gid gid;
	bool is_duplicate; /* another host has it too (RFC 4862, 5.4.5) */
};

/* Whether somebody still refers to the slot `index`. */
typedef bool gid_is_used(void *context, uint32_t index);

/*
 * Makes the table that of `addresses`. Gone addresses leave their slots, unless the slots are in
 * use and no address needs them. New addresses take the first free slots: the first link-local IPv6
 * address before all IPv4 addresses, and these before all other IPv6 addresses, each kind in the
 * order given. A duplicate keeps its slot, unusable. The table drops addresses without a slot.
 * Returns a mask of the slots that changed.
 */
uint32_t gid_table_follow(struct gid_table *table, const struct gid_address *addresses,
			  uint32_t count, gid_is_used *is_used, void *context);

/*
 * Empties the slots that nobody uses, so that gid_table_follow() gives their addresses other ones:
 * from the slot behind the last of them. Returns a mask of these slots.
 */
uint32_t gid_table_vacate(struct gid_table *table, gid_is_used *is_used, void *context);

/*
 * The slot of the address by which the host reaches itself: the first of IPv4, which survives a
 * link that goes down, else the first. The table chooses anew only when that address is unusable,
 * so that callers before and after a new address get the same answer. 0: none is usable.
 */
uint32_t gid_table_own(struct gid_table *table);

#endif
