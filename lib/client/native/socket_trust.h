/* SPDX-License-Identifier: MIT */
/*
 * Whom a program trusts at the other end of a daemon's socket. A daemon reaches the memory of the
 * programs that it serves. At a path that the user chose, whoever listens is the user's choice. In
 * the default places (rnic_default_socket_path(), /run/rnicd) a stranger may have been first: there
 * the program trusts root, its own user, and the owner of a directory /run/rnicd that root made.
 */
#ifndef LIB_CLIENT_NATIVE_SOCKET_TRUST_H
#define LIB_CLIENT_NATIVE_SOCKET_TRUST_H

#include <sys/types.h>

/*
 * Checks who listens at the other end of `fd`, which is connected to `path`. Stores the user of the
 * listener at `owner`, unless NULL. -EACCES: a stranger, at a default place.
 */
int rnic_socket_check_peer(int fd, const char *path, uid_t *owner);

#endif
