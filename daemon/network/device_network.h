/* SPDX-License-Identifier: MIT */
/*
 * Follows the device's network interface: GID table, path MTU and port state become those of the
 * interface, in the ports, in the engine and in what clients are told, and clients get the events
 * (IBTA 1.4, 11.6.3). Owned by the device.
 *
 * Invariant: engine and ports know an address at the same index as the GID table, and keep it while
 * a queue pair or an address handle sends from it, also when the interface has it no longer: what
 * is sent then is lost, until the address is back.
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
 * Begins to follow the interface that device->addressing names, and makes the GID table, of which
 * ports and engine are not told yet. Negative errno with a sentence in `reason`.
 */
int device_network_open(struct device *device, char *reason);
void device_network_close(struct device *device);

/* The usable GIDs by index, zero where there is none. Returns how many slots to look at. */
uint32_t device_network_gids(const struct device *device, struct rnic_gid gids[GID_TABLE_SLOTS]);

/* Brings what clients are told, device->facts, up to date. */
void device_network_fill_facts(struct device *device);

/* Takes note of all that has changed. */
void device_network_follow(struct device *device);

#endif
