/* SPDX-License-Identifier: MIT */
/*
 * The files of rnic-run beside a socket, PATH.log and PATH.lock. Nothing is written where the path
 * is something else than a socket of this user, or where another user could lead the writer to
 * other files.
 */
#ifndef TOOLS_RNIC_RUN_BESIDE_SOCKET_H
#define TOOLS_RNIC_RUN_BESIDE_SOCKET_H

/*
 * Makes the socket's directory when it is missing, for this user alone (/run/rnicd, which root
 * makes, is for all). Negative errno after a complaint: the path is no socket, or another user's;
 * the directory is another user's; or the directory cannot be made.
 */
int beside_socket_prepare(const char *socket);

/*
 * Opens the file whose name is the socket's and `suffix`, and makes it when it is missing. Returns
 * a descriptor, or a negative errno after a complaint.
 */
int beside_socket_open(const char *socket, const char *suffix, int flags);

#endif
