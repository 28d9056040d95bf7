/* SPDX-License-Identifier: MIT */
/*
 * The meaning of --socket in the tools: the given path, or those that every client uses by default.
 * Paths come out absolute, so that they stay valid after a change of directory.
 */
#ifndef TOOLS_SUPPORT_SOCKET_OPTION_H
#define TOOLS_SUPPORT_SOCKET_OPTION_H

#include "lib/client/native/socket_list.h"

#include <stdbool.h>

/*
 * Writes `given`, or the default path when it is NULL, for a tool that speaks to one daemon.
 * Negative errno with a complaint of `program` on standard error.
 */
int socket_option_resolve(const char *program, const char *given,
			  char path[RNIC_SOCKET_PATH_BYTES]);

/*
 * Appends the sockets of one `given` option, or the default ones when it is NULL. Negative errno
 * with a complaint of `program`; also when a directory has no socket.
 */
int socket_option_add(const char *program, const char *given, struct rnic_socket_list *list);

/* Whether the user names a socket, by the option or by RNIC_SOCKET. */
bool socket_option_is_named(const char *given);

#endif
