/* SPDX-License-Identifier: MIT */
/*
 * Says whether root may keep a socket, or another file, in a directory: whoever can write there can
 * put another file in the place of the socket, and whoever can rename a directory on the way there
 * can lead root elsewhere. Nothing is followed that a stranger could change meanwhile.
 *
 * A stranger is everybody but root and the owner of the directory "/", who in a user namespace is
 * whoever owns the files of the host.
 */
#ifndef DAEMON_CONTROL_SERVER_SOCKET_DIRECTORY_H
#define DAEMON_CONTROL_SERVER_SOCKET_DIRECTORY_H

#include <stddef.h>

/*
 * Returns 0 when no stranger can write in `directory`, or change a directory or a symbolic link on
 * the way there. On the way a directory with the sticky bit may be for everybody (/tmp). Failures
 * return a negative errno with a sentence in `reason`: -EPERM for such a stranger, else the error
 * of the directory that cannot be opened.
 */
int socket_directory_check(const char *directory, char *reason, size_t reason_bytes);

/* The same of a directory on the way to another one, and so itself for everybody where sticky. */
int socket_directory_check_way(const char *directory, char *reason, size_t reason_bytes);

/*
 * The same of the directory of a file that root is to make, but not follow or write when another
 * user made it: nobody can lead root to another directory. -ENAMETOOLONG with a sentence in
 * `reason`, too.
 */
int socket_directory_check_file(const char *path, char *reason, size_t reason_bytes);

#endif
