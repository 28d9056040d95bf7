/* SPDX-License-Identifier: MIT */
#include "view/netlink/netlink_source.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Asks the daemon for its device, which is next in the list; one that does not answer has none. */
static void netlink_source_ask(struct rnic_device_list *list, uint32_t index, const char *path)
{
	struct rnic_listed_device *device = &list->devices[list->count];
	struct admin_link link;

	if (admin_link_open(&link, path, "netlink") != 0)
		return;
	*device = (struct rnic_listed_device){.index = index, .attributes = link.device};
	device->attributes.name[sizeof(device->attributes.name) - 1] = '\0';
	admin_link_close(&link);
	memcpy(device->socket_path, path, sizeof(device->socket_path));
	rnic_device_list_choose_name(list, device);
	list->count++;
}

static int netlink_source_list(struct netlink_source *source)
{
	struct rnic_device_list *list = &source->list;
	struct rnic_socket_list sockets;

	if (getenv("RNIC_SOCKET") == NULL || rnic_socket_list_read(&sockets) != 0)
		return -ENODEV;
	list->devices = calloc(sockets.count, sizeof(*list->devices));
	if (list->devices == NULL)
		return -ENOMEM;
	source->has_list = true;
	source->has_names = sockets.count > 1;
	for (uint32_t i = 0; source->has_names && i < sockets.count; i++)
		netlink_source_ask(list, i, sockets.paths[i]);
	if (!source->has_names) {
		memcpy(list->devices[0].socket_path, sockets.paths[0], sizeof(sockets.paths[0]));
		list->count = 1;
	}
	return 0;
}

static void netlink_source_hang_up(struct netlink_source *source)
{
	if (source->is_open)
		admin_link_close(&source->link);
	source->is_open = false;
}

int64_t netlink_source_select(struct netlink_source *source, uint32_t from)
{
	int error = source->has_list ? 0 : netlink_source_list(source);
	uint32_t place = 0;

	if (error != 0)
		return error;
	while (place < source->list.count && source->list.devices[place].index < from)
		place++;
	if (place == source->list.count)
		return -ENODEV;
	if (place != source->place)
		netlink_source_hang_up(source);
	source->place = place;
	return source->list.devices[place].index;
}

int netlink_source_read(struct netlink_source *source, uint32_t kind, size_t row_bytes,
			struct admin_page *page)
{
	const struct rnic_listed_device *device = &source->list.devices[source->place];
	int error;

	if (!source->is_open) {
		error = admin_link_open(&source->link, device->socket_path, "netlink");
		/* To the program the device is gone, whatever is wrong with the path. */
		if (error != 0)
			return error == -EACCES ? error : -ENODEV;
		source->is_open = true;
	}
	error = admin_link_show_page(&source->link, kind, row_bytes, page);
	if (error == 0 && kind == RNIC_SHOW_DEVICE && source->has_names && page->count > 0)
		memcpy(page->rows + offsetof(struct rnic_show_device, device.name),
		       device->attributes.name, sizeof(device->attributes.name));
	return error;
}

void netlink_source_close(struct netlink_source *source)
{
	netlink_source_hang_up(source);
	free(source->list.devices);
	*source = (struct netlink_source){0};
}
