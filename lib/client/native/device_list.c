/* SPDX-License-Identifier: MIT */
#include "lib/client/native/device_list.h"

#include "lib/client/native/fork_list.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What the process was told of its devices: they keep their places and names. */
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_socket_list told_places;
static struct rnic_listed_device told_devices[RNIC_SOCKETS_MAX]; /* by the last list */
static uint32_t told_count;

static void lock_told(void)
{
	pthread_mutex_lock(&told_lock);
}

static void unlock_told(void)
{
	pthread_mutex_unlock(&told_lock);
}

static struct rnic_fork_entry told_fork_entry = {
	.before = lock_told,
	.in_parent = unlock_told,
	.in_child = unlock_told,
};

/* Asks the daemons at these places whose sockets are listed. The devices have no names yet. */
static int ask_listed(const struct rnic_socket_list *places, const struct rnic_socket_list *listed,
		      struct rnic_device_list *list)
{
	*list = (struct rnic_device_list){.devices = calloc(places->count, sizeof(*list->devices))};
	if (list->devices == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < places->count; i++) {
		struct rnic_listed_device *device = &list->devices[list->count];
		int error;

		if (!rnic_socket_list_has(listed, places->paths[i]))
			continue;
		device->index = i;
		memcpy(device->socket_path, places->paths[i], sizeof(device->socket_path));
		error = rnic_query_device_at(device->socket_path, &device->attributes);
		if (error == -ENOMEM)
			goto free_devices;
		if (error != 0)
			continue;
		memcpy(device->own_name, device->attributes.name, sizeof(device->own_name));
		device->attributes.name[0] = '\0';
		list->count++;
	}
	return 0;

free_devices:
	free(list->devices);
	*list = (struct rnic_device_list){0};
	return -ENOMEM;
}

/* Names the devices that have no name yet. */
static void name_devices(struct rnic_device_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		struct rnic_listed_device named = list->devices[i];

		if (named.attributes.name[0] != '\0')
			continue;
		memcpy(named.attributes.name, named.own_name, sizeof(named.attributes.name));
		rnic_device_list_choose_name(list, &named);
		list->devices[i] = named;
	}
}

int rnic_device_list_ask(const struct rnic_socket_list *sockets, struct rnic_device_list *list)
{
	int error = ask_listed(sockets, sockets, list);

	if (error == 0)
		name_devices(list);
	return error;
}

/* Under told_lock. Gives a device the name that it had in the last list. */
static void name_as_told(struct rnic_listed_device *device)
{
	for (uint32_t i = 0; i < told_count; i++)
		if (strcmp(told_devices[i].socket_path, device->socket_path) == 0 &&
		    strcmp(told_devices[i].own_name, device->own_name) == 0)
			memcpy(device->attributes.name, told_devices[i].attributes.name,
			       sizeof(device->attributes.name));
}

/* Names the devices, first those that have a name, and notes what the process is told. */
static void tell_names(struct rnic_device_list *list)
{
	lock_told();
	for (uint32_t i = 0; i < list->count; i++)
		name_as_told(&list->devices[i]);
	name_devices(list);
	memcpy(told_devices, list->devices, list->count * sizeof(told_devices[0]));
	told_count = list->count;
	unlock_told();
}

int rnic_device_list_read(struct rnic_device_list *list)
{
	struct rnic_socket_list listed, places;
	int error = rnic_socket_list_read(&listed);

	*list = (struct rnic_device_list){0};
	if (error != 0)
		return error;
	rnic_fork_list_add(&told_fork_entry);
	lock_told();
	rnic_socket_list_keep_places(&told_places, &listed);
	places = told_places;
	unlock_told();
	error = ask_listed(&places, &listed, list);
	if (error == 0)
		tell_names(list);
	return error;
}
