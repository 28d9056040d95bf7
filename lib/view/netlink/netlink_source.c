/* SPDX-License-Identifier: MIT */
#include "view/netlink/netlink_source.h"

#include <errno.h>
#include <stdlib.h>

int netlink_source_read(struct netlink_source *source, uint32_t kind, size_t row_bytes,
			struct admin_page *page)
{
	const char *socket = getenv("RNIC_SOCKET");
	int error;

	if (socket == NULL)
		return -ENODEV;
	if (!source->is_open) {
		error = admin_link_open(&source->link, socket, "netlink");
		/* To the program the device is gone, whatever is wrong with the path. */
		if (error != 0)
			return error == -EACCES ? error : -ENODEV;
		source->is_open = true;
	}
	return admin_link_show_page(&source->link, kind, row_bytes, page);
}

void netlink_source_close(struct netlink_source *source)
{
	if (source->is_open)
		admin_link_close(&source->link);
	source->is_open = false;
}
