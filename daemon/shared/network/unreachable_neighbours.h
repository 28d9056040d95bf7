/* SPDX-License-Identifier: MIT */
/* Asks the kernel for the neighbours on a link that do not answer (ARP, neighbour discovery). */
#ifndef DAEMON_SHARED_NETWORK_UNREACHABLE_NEIGHBOURS_H
#define DAEMON_SHARED_NETWORK_UNREACHABLE_NEIGHBOURS_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

struct netlink_fact;

/*
 * Opens the socket for all later questions. A process that may open no socket later calls this at
 * its start; without the call each question opens a socket. Negative errno of socket(2).
 */
int unreachable_neighbours_prepare(void);

/*
 * Writes the GIDs of up to `max` silent neighbours on that interface, and returns their number.
 * Negative errno of socket(2) or sendto(2). Does not wait. Fits neighbours_ask
 * (neighbours.h).
 */
int unreachable_neighbours_ask(uint32_t netdev_index, struct rnic_gid *silent, uint32_t max);

/* Whether the fact says that a neighbour on that interface does not answer. */
bool unreachable_neighbours_match(const struct netlink_fact *fact, uint32_t netdev_index);

#endif
