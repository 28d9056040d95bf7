/* SPDX-License-Identifier: MIT */
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/socket_list.h"

#include <string.h>

int rnic_default_socket_path(char path[RNIC_SOCKET_PATH_BYTES])
{
	RNIC_REFUSE_NULL(path);
	struct rnic_socket_list list;
	int error = rnic_socket_list_read(&list);

	if (error == 0)
		memcpy(path, list.paths[0], RNIC_SOCKET_PATH_BYTES);
	return error;
}
