/* SPDX-License-Identifier: MIT */
/* What --socket means in the tools: the path given, or the place where every client looks. */
#ifndef TOOLS_ADMIN_SOCKET_OPTION_H
#define TOOLS_ADMIN_SOCKET_OPTION_H

#include <rnic/rnic.h>

/*
 * Writes `given`, or rnic_default_socket_path() when it is NULL, as an absolute path, so that it
 * still holds after a change of directory. Returns 0 or -ENAMETOOLONG: the caller must give a
 * shorter path.
 */
int socket_option_resolve(const char *given, char path[RNIC_SOCKET_PATH_BYTES]);

#endif
