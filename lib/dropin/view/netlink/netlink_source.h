/* SPDX-License-Identifier: MIT */
/*
 * The daemons of rnic-run as sources of rows: what rnicctl shows this user. Devices have the names
 * and numbers that libibverbs gives them in this program.
 */
#ifndef LIB_DROPIN_VIEW_NETLINK_NETLINK_SOURCE_H
#define LIB_DROPIN_VIEW_NETLINK_NETLINK_SOURCE_H

#include "lib/client/admin/admin_link.h"
#include "lib/client/native/device_list.h"

struct netlink_source {
	struct rnic_device_list list; /* of `devices` */
	struct rnic_listed_device devices[RNIC_SOCKETS_MAX];
	struct admin_link link; /* to the daemon of the device that was read last */
	uint32_t linked;	/* the device's place in the list, or none */
};

/* Asks the daemons of $RNIC_SOCKET for their devices. A daemon that does not answer has none. */
void netlink_source_open(struct netlink_source *source);

/* Reads rows of the device at `place` in the list: see nldev_peer.read. */
int netlink_source_read(struct netlink_source *source, uint32_t place, uint32_t kind,
			struct admin_page *page);

void netlink_source_close(struct netlink_source *source);

#endif
