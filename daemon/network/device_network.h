/* SPDX-License-Identifier: MIT */
/*
 * Follows the device's network interface. GID table, path MTU and port state become those of the
 * interface, in the device half and in the facts for clients, and clients get the events
 * (IBTA 1.4, 11.6.3). The control plane owns this object.
 *
 * Invariant: the device half knows an address at the same index as the GID table. The device half
 * keeps the address while a queue pair or an address handle sends from it, also when the interface
 * has lost it: packets are then lost until the address is back.
 */
#ifndef DAEMON_NETWORK_DEVICE_NETWORK_H
#define DAEMON_NETWORK_DEVICE_NETWORK_H

#include "network/gid_table.h"
#include "network/netdev_watch.h"

struct addressing;
struct cm;
struct device_facts;
struct device_half;
struct device_view;

/* The owner sets `addressing`, `facts` and `view` before device_network_open(), and `device` and
 * `cm` before the first device_network_follow(). */
struct device_network {
	const struct addressing *addressing; /* that names the interface */
	struct device_facts *facts;	     /* for clients */
	struct device_half *device;
	struct cm *cm;
	struct device_view *view;
	struct netdev_watch watch;
	struct gid_table gids;
	struct rnic_gid known[GID_TABLE_SLOTS]; /* to the device half */
	bool is_end_logged;			/* of the interface */
};

/*
 * Begins to follow the interface that `addressing` names, and makes the GID table; the device half
 * does not know the table yet. Negative errno with a sentence in `reason`.
 */
int device_network_open(struct device_network *network, char *reason);
void device_network_close(struct device_network *network);

/* The usable GIDs by index, zero where there is none. Returns the number of slots to look at. */
uint32_t device_network_gids(const struct device_network *network,
			     struct rnic_gid gids[GID_TABLE_SLOTS]);

/* Updates the facts, which clients get. */
void device_network_fill_facts(struct device_network *network);

/* Processes all changes of the interface. */
void device_network_follow(struct device_network *network);

#endif
