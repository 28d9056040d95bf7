/* SPDX-License-Identifier: MIT */
/*
 * The meaning of --socket in the tools: the given path, or the path that every client uses by
 * default.
 */
#ifndef TOOLS_ADMIN_SOCKET_OPTION_H
#define TOOLS_ADMIN_SOCKET_OPTION_H

#include <rnic/rnic.h>

#include <stdbool.h>

/*
 * Writes `given`, or rnic_default_socket_path() when it is NULL, as an absolute path, which stays
 * valid after a change of directory. Returns 0 or -ENAMETOOLONG: the caller must give a shorter
 * path.
 */
int socket_option_resolve(const char *given, char path[RNIC_SOCKET_PATH_BYTES]);

/* Whether the user names a socket, by the option or by RNIC_SOCKET. */
bool socket_option_is_named(const char *given);

#endif
