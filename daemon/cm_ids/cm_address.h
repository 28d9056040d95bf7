/* SPDX-License-Identifier: MIT */
/*
 * Addresses of the connection manager's clients against those of the device: which are any, which
 * are the device's, and from which one a destination is reached.
 *
 * A device has the addresses of one interface. The host's loopback address stands for the device
 * itself, as programs that try themselves first expect, unless the device is on the loopback
 * interface, where every address of 127.0.0.0/8 may be another RNIC.
 */
#ifndef DAEMON_CM_IDS_CM_ADDRESS_H
#define DAEMON_CM_IDS_CM_ADDRESS_H

#include "cm/cm.h"
#include "ctl/ctl_cm.h"

#include <stdbool.h>

/* False: the endpoint is neither IPv4 nor IPv6, or its address does not fit its family. */
bool cm_address_from_endpoint(const struct rnic_endpoint *endpoint, struct cm_address *address);

struct rnic_gid cm_address_any_ipv4(void);
bool cm_address_is_any(const struct cm_address *address);

/* Turns a loopback address into the device's; then, whether the address is one of the device's. */
bool cm_address_to_own(const struct rnic_ctl_gids_reply *gids, struct cm_address *address);

/*
 * The device's address that the host's routes give packets to `peer`, else the first of the same
 * family (and scope). -ENETUNREACH, -EHOSTUNREACH: no route; -ENODEV: no address of that family.
 */
int cm_address_choose_source(const struct rnic_ctl_gids_reply *gids, const struct rnic_gid *peer,
			     struct rnic_gid *source);

#endif
