/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/netlink/netlink_source.h"

#include <errno.h>
#include <string.h>

#define NETLINK_UNLINKED UINT32_MAX

static int netlink_source_link(struct netlink_source *source, const char *path, uint32_t place)
{
	int error;

	netlink_source_close(source);
	error = admin_link_open(&source->link, path, "netlink");
	if (error == 0)
		source->linked = place;
	return error;
}

void netlink_source_open(struct netlink_source *source)
{
	struct rnic_device_list *list = &source->list;
	struct rnic_socket_list sockets;

	source->linked = NETLINK_UNLINKED;
	*list = (struct rnic_device_list){.devices = source->devices};
	if (rnic_socket_list_read(&sockets) != 0)
		return;
	for (uint32_t i = 0; i < sockets.count; i++) {
		struct rnic_listed_device *device = &list->devices[list->count];

		if (netlink_source_link(source, sockets.paths[i], list->count) != 0)
			continue;
		device->index = i;
		device->attributes = source->link.device;
		memcpy(device->socket_path, sockets.paths[i], sizeof(device->socket_path));
		memcpy(device->own_name, device->attributes.name, sizeof(device->own_name));
		rnic_device_list_choose_name(list, device);
		list->count++;
	}
}

int netlink_source_read(struct netlink_source *source, uint32_t place, uint32_t kind,
			struct admin_page *page)
{
	/* To the program a device whose daemon does not answer any more is gone. */
	if (source->linked != place &&
	    netlink_source_link(source, source->devices[place].socket_path, place) != 0)
		return -ENODEV;
	return admin_link_show_page(&source->link, kind, page);
}

void netlink_source_close(struct netlink_source *source)
{
	if (source->linked != NETLINK_UNLINKED)
		admin_link_close(&source->link);
	source->linked = NETLINK_UNLINKED;
}
