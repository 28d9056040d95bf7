/* SPDX-License-Identifier: MIT */
/*
 * What is known of one network interface, kept up to date by the facts that netlink states. Pure;
 * owned by whoever reads them (netdev_watch.h).
 *
 * A dump brings it up to date when facts were missed: what is not stated again between begin and
 * end of it is gone. Facts of other interfaces change nothing.
 */
#ifndef DAEMON_NETWORK_NETDEV_STATE_H
#define DAEMON_NETWORK_NETDEV_STATE_H

#include "network/gid_table.h"
#include "network/netlink_message.h"

#define NETDEV_ADDRESSES_MAX 256 /* further ones are not noticed */

struct netdev_state {
	uint32_t netdev_index;
	bool is_gone; /* for good: an interface made anew has another index */
	bool is_running;
	uint32_t mtu_bytes;
	uint32_t address_count;
	struct gid_address addresses[NETDEV_ADDRESSES_MAX]; /* in the order in which they came */
	bool is_confirmed[NETDEV_ADDRESSES_MAX];	    /* stated since the dump began */
};

void netdev_state_init(struct netdev_state *state, uint32_t netdev_index);

/* Takes note of a fact about a link or an address. Returns whether it changed anything. */
bool netdev_state_apply(struct netdev_state *state, const struct netlink_fact *fact);

void netdev_state_begin_dump(struct netdev_state *state);

/* Returns whether anything turned out to be gone. */
bool netdev_state_end_dump(struct netdev_state *state);

#endif
