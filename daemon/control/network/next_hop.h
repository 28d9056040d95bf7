/* SPDX-License-Identifier: MIT */
/*
 * The host on this link that packets to an address go to: the host of the address, or a router.
 * Asks the kernel for it, and makes the kernel ask the link for its link address.
 */
#ifndef DAEMON_CONTROL_NETWORK_NEXT_HOP_H
#define DAEMON_CONTROL_NETWORK_NEXT_HOP_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

struct next_hop {
	struct rnic_gid gid;
	uint32_t netdev_index;
};

/* The way of packets from an address of the interface `netdev_index` to a peer. */
struct hop_way {
	struct rnic_gid source;
	struct rnic_gid peer;
	uint32_t netdev_index;
};

/*
 * Returns whether the kernel does not know the link address of the next hop, and stores the hop
 * then. False also when there is nothing to know (the peer is on this host, a group, or behind a
 * link without link addresses) and when the kernel does not say. `fd` is a NETLINK_ROUTE socket;
 * does not wait.
 */
bool next_hop_is_unknown(int fd, const struct hop_way *way, struct next_hop *hop);

/*
 * Makes the kernel ask for the link address, as often as it asks for one that it needs. A process
 * without privileges can only do that by a packet to the peer: an empty datagram to the discard
 * port, which waits in the kernel for the link address, and is dropped if none comes.
 */
void next_hop_call(const struct hop_way *way);

#endif
