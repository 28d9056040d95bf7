/* SPDX-License-Identifier: MIT */
/*
 * The known state of one network interface, which the facts of netlink keep up to date. Pure; the
 * reader of the facts owns it (netdev_watch.h).
 *
 * A dump restores the state after missed facts: an address that is not repeated between begin and
 * end of the dump is gone. Facts of other interfaces change nothing.
 *
 * An interface that is gone comes back as the next link of its name, also with another index.
 *
 * The kernel gives an interface its link-local address when the link gets its carrier. The list of
 * addresses has this address before, so that GIDs do not change their places with the carrier.
 */
#ifndef DAEMON_CONTROL_NETWORK_NETDEV_STATE_H
#define DAEMON_CONTROL_NETWORK_NETDEV_STATE_H

#include "daemon/control/network/gid_table.h"
#include "daemon/shared/network/netlink_message.h"

#define NETDEV_ADDRESSES_MAX 256			/* the state ignores further ones */
#define NETDEV_LIST_MAX	     (NETDEV_ADDRESSES_MAX + 1) /* with the one that the kernel will add */

struct netdev_state {
	char netdev[IF_NAMESIZE];
	uint32_t netdev_index;
	bool is_gone;
	bool is_running;
	uint32_t mtu_bytes;
	struct rnic_gid coming; /* the link-local address that the kernel will add; zero: none */
	bool awaits_coming;	/* the link has had no carrier since the last such address */
	uint32_t address_count;
	struct gid_address addresses[NETDEV_ADDRESSES_MAX]; /* in the order of arrival */
	bool is_confirmed[NETDEV_ADDRESSES_MAX];	    /* repeated since the dump began */
};

void netdev_state_init(struct netdev_state *state, const char *netdev, uint32_t netdev_index);

/*
 * Takes a fact about a link or an address. Returns whether it changed anything. A gone interface
 * that comes back has no addresses yet: the caller begins a dump.
 */
bool netdev_state_apply(struct netdev_state *state, const struct netlink_fact *fact);

void netdev_state_begin_dump(struct netdev_state *state);

/* Ends a dump. Returns whether an address turned out to be gone. */
bool netdev_state_end_dump(struct netdev_state *state);

/* Stores the addresses, with the one that the kernel will add. Returns their number. */
uint32_t netdev_state_list(const struct netdev_state *state,
			   struct gid_address out[NETDEV_LIST_MAX]);

#endif
