/* SPDX-License-Identifier: MIT */
#include "admin/socket_option.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int copy_path(char path[RNIC_SOCKET_PATH_BYTES], const char *directory,
		     const char *separator, const char *name)
{
	int length = snprintf(path, RNIC_SOCKET_PATH_BYTES, "%s%s%s", directory, separator, name);

	return length < 0 || length >= RNIC_SOCKET_PATH_BYTES ? -ENAMETOOLONG : 0;
}

int socket_option_resolve(const char *given, char path[RNIC_SOCKET_PATH_BYTES])
{
	char usual[RNIC_SOCKET_PATH_BYTES], directory[PATH_MAX];

	if (!given) {
		int error = rnic_default_socket_path(usual);
		if (error)
			return error;
		given = usual;
	}
	if (given[0] == '/')
		return copy_path(path, "", "", given);
	if (!getcwd(directory, sizeof(directory)))
		return -ENAMETOOLONG;
	return copy_path(path, directory, "/", given);
}

bool socket_option_is_named(const char *given)
{
	const char *variable = getenv("RNIC_SOCKET");

	return given != NULL || (variable != NULL && variable[0] != '\0');
}
