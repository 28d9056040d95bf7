/* SPDX-License-Identifier: MIT */
#include "native/device_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rnic_device_list_ask(const struct rnic_socket_list *sockets, struct rnic_device_list *list)
{
	*list = (struct rnic_device_list){.devices =
						  calloc(sockets->count, sizeof(*list->devices))};
	if (list->devices == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < sockets->count; i++) {
		struct rnic_listed_device *device = &list->devices[list->count];
		int error;

		device->index = i;
		memcpy(device->socket_path, sockets->paths[i], sizeof(device->socket_path));
		error = rnic_query_device_at(device->socket_path, &device->attributes);
		if (error == -ENOMEM)
			goto free_devices;
		if (error != 0)
			continue;
		memcpy(device->own_name, device->attributes.name, sizeof(device->own_name));
		rnic_device_list_choose_name(list, device);
		list->count++;
	}
	return 0;

free_devices:
	free(list->devices);
	*list = (struct rnic_device_list){0};
	return -ENOMEM;
}

int rnic_device_list_read(struct rnic_device_list *list)
{
	struct rnic_socket_list sockets;
	int error = rnic_socket_list_read(&sockets);

	*list = (struct rnic_device_list){0};
	return error == 0 ? rnic_device_list_ask(&sockets, list) : error;
}
