/* SPDX-License-Identifier: MIT */
/*
 * Follows the device's network interface. GID table, path MTU and port state become those of the
 * interface, in the ports, in the engine and in the facts for clients, and clients get the events
 * (IBTA 1.4, 11.6.3). The device owns this object.
 *
 * Invariant: engine and ports know an address at the same index as the GID table. They keep it
 * while a queue pair or an address handle sends from it, also when the interface has lost it:
 * packets are then lost until the address is back.
 */
#ifndef DAEMON_NETWORK_DEVICE_NETWORK_H
#define DAEMON_NETWORK_DEVICE_NETWORK_H

#include "network/gid_table.h"
#include "network/netdev_watch.h"

struct device;

struct device_network {
	struct netdev_watch watch;
	struct gid_table gids;
	bool is_end_logged; /* of the interface */
};

/*
 * Begins to follow the interface in device->addressing, and makes the GID table; ports and engine
 * do not know the table yet. Negative errno with a sentence in `reason`.
 */
int device_network_open(struct device *device, char *reason);
void device_network_close(struct device *device);

/* The usable GIDs by index, zero where there is none. Returns the number of slots to look at. */
uint32_t device_network_gids(const struct device *device, struct rnic_gid gids[GID_TABLE_SLOTS]);

/* Updates device->facts, which clients get. */
void device_network_fill_facts(struct device *device);

/* Processes all changes of the interface. */
void device_network_follow(struct device *device);

#endif
