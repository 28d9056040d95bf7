/* SPDX-License-Identifier: MIT */
#include "tools/support/socket_option.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_path_absolute(char path[RNIC_SOCKET_PATH_BYTES])
{
	char directory[PATH_MAX], relative[RNIC_SOCKET_PATH_BYTES];
	int length;

	if (path[0] == '/')
		return 0;
	if (!getcwd(directory, sizeof(directory)))
		return -ENAMETOOLONG;
	memcpy(relative, path, sizeof(relative));
	length = snprintf(path, RNIC_SOCKET_PATH_BYTES, "%s/%s", directory, relative);
	return length < 0 || length >= RNIC_SOCKET_PATH_BYTES ? -ENAMETOOLONG : 0;
}

static int socket_option_complain(const char *program, const char *given, int error)
{
	const char *what = given ? given : "RNIC_SOCKET";

	if (error == -ENAMETOOLONG)
		fprintf(stderr, "%s: the path of the socket is too long\n", program);
	else if (error == -E2BIG)
		fprintf(stderr, "%s: more than %d sockets\n", program, RNIC_SOCKETS_MAX);
	else
		fprintf(stderr, "%s: no socket in %s: %s\n", program, what, strerror(-error));
	return error;
}

int socket_option_add(const char *program, const char *given, struct rnic_socket_list *list)
{
	uint32_t first = list->count;
	int error = given ? rnic_socket_list_add(list, given) : rnic_socket_list_read(list);

	if (error == 0 && list->count == 0)
		error = -ENOENT;
	for (uint32_t i = given ? first : 0; error == 0 && i < list->count; i++)
		error = make_path_absolute(list->paths[i]);
	return error ? socket_option_complain(program, given, error) : 0;
}

int socket_option_resolve(const char *program, const char *given, char path[RNIC_SOCKET_PATH_BYTES])
{
	struct rnic_socket_list list = {0};
	int error = socket_option_add(program, given, &list);

	if (error)
		return error;
	if (list.count > 1) {
		fprintf(stderr, "%s: %s names %u sockets; give one of them by --socket\n", program,
			given ? given : "RNIC_SOCKET", list.count);
		return -E2BIG;
	}
	memcpy(path, list.paths[0], RNIC_SOCKET_PATH_BYTES);
	return 0;
}

bool socket_option_is_named(const char *given)
{
	const char *variable = getenv("RNIC_SOCKET");

	return given != NULL || (variable != NULL && variable[0] != '\0');
}
