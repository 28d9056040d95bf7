/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/gid_table.h"

#include "proto/wire/gid.h"

#include <stddef.h>

enum gid_kind { GID_LINK_LOCAL, GID_IPV4, GID_IPV6, GID_KINDS };

static enum gid_kind gid_kind(const struct rnic_gid *gid)
{
	if (rnic_gid_is_ipv4(gid))
		return GID_IPV4;
	return rnic_gid_is_link_local(gid) ? GID_LINK_LOCAL : GID_IPV6;
}

static const struct gid_address *gid_table_find_address(const struct gid_address *addresses,
							uint32_t count, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < count; i++)
		if (rnic_gid_equal(&addresses[i].gid, gid))
			return &addresses[i];
	return NULL;
}

/* The slot of `gid`; for the zero GID the first free one. NULL when there is none. */
static struct gid_slot *gid_table_find_slot(struct gid_table *table, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++) {
		struct gid_slot *slot = &table->slots[(table->first + i) % GID_TABLE_SLOTS];

		if (rnic_gid_equal(&slot->gid, gid))
			return slot;
	}
	return NULL;
}

static bool has_link_local(const struct gid_table *table)
{
	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++)
		if (rnic_gid_is_link_local(&table->slots[i].gid))
			return true;
	return false;
}

/* Updates a taken slot from its address, NULL: gone. */
static bool update_slot(struct gid_table *table, struct gid_slot *slot,
			const struct gid_address *address, bool is_used)
{
	bool was_usable = slot->is_usable;

	slot->is_usable = address != NULL && !address->is_duplicate;
	if (address != NULL)
		slot->gone = 0;
	else if (slot->gone == 0)
		slot->gone = ++table->gone_count;
	if (address != NULL || is_used)
		return slot->is_usable != was_usable;
	*slot = (struct gid_slot){.is_usable = false};
	return true;
}

/* The slot of the address that is gone for longest, though somebody uses it. NULL: all are there.
 */
static struct gid_slot *gid_table_longest_gone(struct gid_table *table)
{
	struct gid_slot *longest = NULL;

	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++) {
		struct gid_slot *slot = &table->slots[i];

		if (slot->gone != 0 && (longest == NULL || slot->gone < longest->gone))
			longest = slot;
	}
	return longest;
}

static void add_kind(struct gid_table *table, enum gid_kind kind,
		     const struct gid_address *addresses, uint32_t count, uint32_t *changed)
{
	static const struct rnic_gid free_gid;

	for (uint32_t i = 0; i < count; i++) {
		struct gid_slot *slot;

		if (gid_kind(&addresses[i].gid) != kind || rnic_gid_is_zero(&addresses[i].gid) ||
		    gid_table_find_slot(table, &addresses[i].gid) != NULL ||
		    (kind == GID_LINK_LOCAL && has_link_local(table)))
			continue;
		slot = gid_table_find_slot(table, &free_gid);
		if (slot == NULL)
			slot = gid_table_longest_gone(table);
		if (slot == NULL)
			return;
		*slot = (struct gid_slot){.gid = addresses[i].gid,
					  .is_usable = !addresses[i].is_duplicate};
		*changed |= UINT32_C(1) << (slot - table->slots);
	}
}

uint32_t gid_table_follow(struct gid_table *table, const struct gid_address *addresses,
			  uint32_t count, gid_is_used *is_used, void *context)
{
	uint32_t changed = 0;

	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++) {
		struct gid_slot *slot = &table->slots[i];
		const struct gid_address *address =
			gid_table_find_address(addresses, count, &slot->gid);

		if (!rnic_gid_is_zero(&slot->gid) &&
		    update_slot(table, slot, address, address == NULL && is_used(context, i)))
			changed |= UINT32_C(1) << i;
	}
	for (enum gid_kind kind = GID_LINK_LOCAL; kind < GID_KINDS; kind++)
		add_kind(table, kind, addresses, count, &changed);
	return changed;
}

uint32_t gid_table_vacate(struct gid_table *table, gid_is_used *is_used, void *context)
{
	const uint32_t before = table->first;
	uint32_t vacated = 0;

	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++) {
		struct gid_slot *slot = &table->slots[i];

		if (rnic_gid_is_zero(&slot->gid) || is_used(context, i))
			continue;
		*slot = (struct gid_slot){.is_usable = false};
		vacated |= UINT32_C(1) << i;
		table->first = (i + 1) % GID_TABLE_SLOTS;
	}
	/* A full table ends at the same slot each time: its addresses move by one. */
	if (table->first == before)
		table->first = (before + 1) % GID_TABLE_SLOTS;
	return vacated;
}

static bool is_usable_ipv4(const struct gid_slot *slot)
{
	return slot->is_usable && rnic_gid_is_ipv4(&slot->gid);
}

static uint32_t choose_own(const struct gid_table *table)
{
	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++)
		if (is_usable_ipv4(&table->slots[i]))
			return i;
	for (uint32_t i = 0; i < GID_TABLE_SLOTS; i++)
		if (table->slots[i].is_usable)
			return i;
	return 0;
}

uint32_t gid_table_own(struct gid_table *table)
{
	if (!table->slots[table->own_slot].is_usable)
		table->own_slot = choose_own(table);
	return table->own_slot;
}
