/* SPDX-License-Identifier: MIT */
/* The daemons of rnic-run as sources of rows: what rnicctl shows this user. */
#ifndef RNIC_VIEW_NETLINK_SOURCE_H
#define RNIC_VIEW_NETLINK_SOURCE_H

#include "admin/admin_link.h"
#include "native/device_list.h"

struct netlink_source {
	struct rnic_device_list list;
	uint32_t place; /* in the list, of the device that is selected */
	bool has_list;
	bool has_names; /* those of the list: there are several sockets */
	struct admin_link link;
	bool is_open;
};

/*
 * Selects the first device of $RNIC_SOCKET with this index or a later one, as nldev_peer.select.
 * One socket is a device, whether or not a daemon answers there.
 */
int64_t netlink_source_select(struct netlink_source *source, uint32_t from);

/* Reads rows of the selected device, as nldev_peer.read. Connects with the first call. */
int netlink_source_read(struct netlink_source *source, uint32_t kind, size_t row_bytes,
			struct admin_page *page);

void netlink_source_close(struct netlink_source *source);

#endif
