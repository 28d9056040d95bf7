/* SPDX-License-Identifier: MIT */
/*
 * Compares the addresses of the connection manager's clients with the device's: wildcard addresses,
 * the device's own addresses, and the source address for a destination.
 *
 * A device has the addresses of one interface. The host's loopback address stands for the device
 * itself, because programs try themselves by that address first. Exception: on the loopback
 * interface, every address of 127.0.0.0/8 may be another RNIC.
 */
#ifndef DAEMON_CONTROL_CM_IDS_CM_ADDRESS_H
#define DAEMON_CONTROL_CM_IDS_CM_ADDRESS_H

#include "daemon/control/cm/cm.h"
#include "proto/ctl/ctl_cm.h"

#include <stdbool.h>

/*
 * Converts an endpoint. False: the endpoint is neither IPv4 nor IPv6, or its address does not fit
 * its family.
 */
bool cm_address_from_endpoint(const struct rnic_endpoint *endpoint, struct cm_address *address);

/* The way back. All zeroes: the address is not known, and has no port either. */
struct rnic_endpoint cm_address_endpoint(const struct cm_address *address, bool is_known);

struct rnic_gid cm_address_any_ipv4(void);
bool cm_address_is_any(const struct cm_address *address);

/*
 * Replaces a loopback address by the device's. Returns whether the address is then the device's
 * own.
 */
bool cm_address_to_own(const struct rnic_ctl_gids_reply *gids, struct cm_address *address);

/*
 * Chooses the source address for `peer`: the device's address that the host's routes give, else the
 * first address of the same family (and scope). -ENETUNREACH, -EHOSTUNREACH: no route; -ENODEV: no
 * address of that family.
 */
int cm_address_choose_source(const struct rnic_ctl_gids_reply *gids, const struct rnic_gid *peer,
			     struct rnic_gid *source);

#endif
