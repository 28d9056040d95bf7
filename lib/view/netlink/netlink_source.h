/* SPDX-License-Identifier: MIT */
/* The daemon of rnic-run as a source of rows: what rnicctl shows this user. */
#ifndef RNIC_VIEW_NETLINK_SOURCE_H
#define RNIC_VIEW_NETLINK_SOURCE_H

#include "admin/admin_link.h"

struct netlink_source {
	struct admin_link link;
	bool is_open;
};

/* Reads rows from the daemon of $RNIC_SOCKET, as nldev_peer.read. Connects with the first call. */
int netlink_source_read(struct netlink_source *source, uint32_t kind, size_t row_bytes,
			struct admin_page *page);

void netlink_source_close(struct netlink_source *source);

#endif
