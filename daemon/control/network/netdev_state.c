/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/netdev_state.h"

#include "daemon/control/network/addressing.h"
#include "proto/base/be.h"
#include "proto/wire/gid.h"

#include <stdio.h>
#include <string.h>

void netdev_state_init(struct netdev_state *state, const char *netdev, uint32_t netdev_index)
{
	*state = (struct netdev_state){.netdev_index = netdev_index};
	snprintf(state->netdev, sizeof(state->netdev), "%s", netdev);
}

static bool netdev_has_link_local(const struct netdev_state *state)
{
	for (uint32_t i = 0; i < state->address_count; i++)
		if (rnic_gid_is_link_local(&state->addresses[i].gid))
			return true;
	return false;
}

/* The link-local address that is to come; zero: none. */
static struct rnic_gid netdev_coming(const struct netdev_state *state)
{
	static const struct rnic_gid none;

	return state->awaits_coming && !netdev_has_link_local(state) ? state->coming : none;
}

/* fe80::, and the MAC address as an interface identifier (RFC 4291, appendix A). */
static struct rnic_gid link_local_of(const uint8_t mac[6])
{
	struct rnic_gid gid = {{0xfe, 0x80}};

	rnic_be64_write(gid.bytes + 8, addressing_guid_from_mac(mac));
	return gid;
}

/*
 * With a carrier, an interface without a link-local address stays so: somebody has removed the
 * address. The kernel tells of a new address before it tells of the carrier, or after that.
 */
static bool apply_link(struct netdev_state *state, const struct netlink_fact *fact)
{
	const uint32_t mtu_bytes = fact->mtu_bytes != 0 ? fact->mtu_bytes : state->mtu_bytes;
	const struct rnic_gid before = netdev_coming(state);
	const bool has_changed =
		fact->is_running != state->is_running || mtu_bytes != state->mtu_bytes;
	struct rnic_gid after;

	state->is_running = fact->is_running;
	state->mtu_bytes = mtu_bytes;
	state->coming = fact->has_mac_id ? link_local_of(fact->mac) : (struct rnic_gid){{0}};
	if (!fact->is_running)
		state->awaits_coming = true;
	else if (netdev_has_link_local(state))
		state->awaits_coming = false;
	after = netdev_coming(state);
	return has_changed || !rnic_gid_equal(&before, &after);
}

static bool apply_link_gone(struct netdev_state *state)
{
	state->is_gone = true;
	state->is_running = false;
	state->awaits_coming = false;
	state->address_count = 0;
	return true;
}

/* The index of the address, or the index behind the last one. */
static uint32_t netdev_state_find_address(const struct netdev_state *state,
					  const struct rnic_gid *gid)
{
	uint32_t i = 0;

	while (i < state->address_count && !rnic_gid_equal(&state->addresses[i].gid, gid))
		i++;
	return i;
}

static bool apply_address(struct netdev_state *state, const struct netlink_fact *fact)
{
	uint32_t i = netdev_state_find_address(state, &fact->gid);
	bool has_changed;

	if (i == NETDEV_ADDRESSES_MAX)
		return false;
	has_changed =
		i == state->address_count || state->addresses[i].is_duplicate != fact->is_duplicate;
	state->addresses[i] = (struct gid_address){fact->gid, fact->is_duplicate};
	state->is_confirmed[i] = true;
	if (state->is_running && rnic_gid_is_link_local(&fact->gid))
		state->awaits_coming = false;
	if (i == state->address_count)
		state->address_count++;
	return has_changed;
}

static void remove_address(struct netdev_state *state, uint32_t i)
{
	uint32_t behind = --state->address_count - i;

	memmove(&state->addresses[i], &state->addresses[i + 1],
		behind * sizeof(state->addresses[0]));
	memmove(&state->is_confirmed[i], &state->is_confirmed[i + 1],
		behind * sizeof(state->is_confirmed[0]));
}

static bool apply_address_gone(struct netdev_state *state, const struct netlink_fact *fact)
{
	uint32_t i = netdev_state_find_address(state, &fact->gid);

	if (i == state->address_count)
		return false;
	remove_address(state, i);
	return true;
}

/* An interface may get its name some time after it was made. */
static bool apply_return(struct netdev_state *state, const struct netlink_fact *fact)
{
	if (fact->kind != NETLINK_LINK || strcmp(fact->netdev, state->netdev) != 0)
		return false;
	state->is_gone = false;
	state->netdev_index = fact->netdev_index;
	apply_link(state, fact);
	return true;
}

bool netdev_state_apply(struct netdev_state *state, const struct netlink_fact *fact)
{
	if (state->is_gone)
		return apply_return(state, fact);
	if (fact->netdev_index != state->netdev_index)
		return false;
	switch (fact->kind) {
	case NETLINK_LINK:
		return apply_link(state, fact);
	case NETLINK_LINK_GONE:
		return apply_link_gone(state);
	case NETLINK_ADDRESS:
		return apply_address(state, fact);
	case NETLINK_ADDRESS_GONE:
		return apply_address_gone(state, fact);
	case NETLINK_NEIGHBOUR:
	case NETLINK_ROUTE:
	case NETLINK_DUMP_END:
	case NETLINK_DUMP_FAILED:
		break;
	}
	return false;
}

void netdev_state_begin_dump(struct netdev_state *state)
{
	memset(state->is_confirmed, 0, sizeof(state->is_confirmed));
}

bool netdev_state_end_dump(struct netdev_state *state)
{
	bool has_changed = false;

	for (uint32_t i = state->address_count; i > 0; i--) {
		if (state->is_confirmed[i - 1])
			continue;
		remove_address(state, i - 1);
		has_changed = true;
	}
	return has_changed;
}

uint32_t netdev_state_list(const struct netdev_state *state,
			   struct gid_address out[NETDEV_LIST_MAX])
{
	const struct rnic_gid coming = netdev_coming(state);
	uint32_t count = state->address_count;

	memcpy(out, state->addresses, count * sizeof(out[0]));
	if (!rnic_gid_is_zero(&coming))
		out[count++] = (struct gid_address){.gid = coming};
	return count;
}
