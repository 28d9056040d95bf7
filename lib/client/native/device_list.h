/* SPDX-License-Identifier: MIT */
/*
 * The devices of a program with their names: those of the daemons that answer on its sockets.
 *
 * Daemons do not know of each other, and the device of each is rnic0 unless --name says otherwise.
 * In a program names are distinct: a device that is called rnic0, or like an earlier one of the
 * list, or by what is no file name, is rnicINDEX. libibverbs and the path view take their names
 * from here, so that they agree. A device that a process was told of keeps its index and its name
 * while it is there, whatever comes and goes beside it.
 */
#ifndef LIB_CLIENT_NATIVE_DEVICE_LIST_H
#define LIB_CLIENT_NATIVE_DEVICE_LIST_H

#include "lib/client/native/socket_list.h"

struct rnic_listed_device {
	char socket_path[RNIC_SOCKET_PATH_BYTES];
	uint32_t index; /* the place of its socket, and the number of its uverbs */
	char own_name[RNIC_DEVICE_NAME_BYTES];	  /* that its daemon has for it */
	struct rnic_device_attributes attributes; /* with the name in this program */
};

struct rnic_device_list {
	struct rnic_listed_device *devices;
	uint32_t count;
};

/*
 * Asks all daemons of the sockets; one that does not answer has no device here. The devices are the
 * caller's to free. -ENOMEM.
 */
int rnic_device_list_ask(const struct rnic_socket_list *sockets, struct rnic_device_list *list);

/*
 * The same with the sockets of this process, and with the indices and names of the list before.
 * Errors of rnic_socket_list_read(), too.
 */
int rnic_device_list_read(struct rnic_device_list *list);

/* Gives the device, with its daemon's name for it, the name beside those of the list. */
void rnic_device_list_choose_name(const struct rnic_device_list *list,
				  struct rnic_listed_device *device);

#endif
