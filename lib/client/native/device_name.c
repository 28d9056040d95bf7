/* SPDX-License-Identifier: MIT */
/* Apart from device_list.c, so that the path view's library has it without all of this folder. */
#include "lib/client/native/device_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DEVICE_LIST_UNNAMED "rnic0" /* of a daemon without --name */

static bool device_list_has(const struct rnic_device_list *list, const char *name)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (strcmp(list->devices[i].attributes.name, name) == 0)
			return true;
	return false;
}

/* Names become names of files: of links in the path view that rnic-run makes. */
static bool is_file_name(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

/* A device that somebody named rnicINDEX may come before this one: then a number above all. */
void rnic_device_list_choose_name(const struct rnic_device_list *list,
				  struct rnic_listed_device *device)
{
	char *name = device->attributes.name;

	if (is_file_name(name) && strcmp(name, DEVICE_LIST_UNNAMED) != 0 &&
	    !device_list_has(list, name))
		return;
	for (uint32_t number = device->index;; number += RNIC_SOCKETS_MAX) {
		snprintf(name, sizeof(device->attributes.name), "rnic%u", number);
		if (!device_list_has(list, name))
			return;
	}
}
