/* SPDX-License-Identifier: MIT */
/*
 * Chooses the path of the control socket and takes that path for the daemon: the daemon replaces a
 * socket that no program serves any more, but not a socket that another daemon serves. Failures are
 * sentences for the person who started the daemon.
 */
#ifndef DAEMON_CONTROL_SOCKET_PATH_H
#define DAEMON_CONTROL_SOCKET_PATH_H

#include <stddef.h>
#include <sys/types.h>

#define SOCKET_PATH_PATH_BYTES	 108 /* of sockaddr_un.sun_path */
#define SOCKET_PATH_REASON_BYTES 256

/* A bound socket, and the file at its path: the daemon removes only that file in the end. */
struct socket_path {
	char path[SOCKET_PATH_PATH_BYTES];
	dev_t device;
	ino_t inode;
};

/*
 * Stores the default path: $RNIC_SOCKET, else /run/rnicd/rnicd.sock for root, else
 * $XDG_RUNTIME_DIR/rnicd.sock, else /tmp/rnicd-UID/rnicd.sock. Makes the directory of the second
 * path (0755) and of the last (0700, checked to be ours alone). Negative errno with a sentence in
 * `reason`.
 */
int socket_path_default(char path[SOCKET_PATH_PATH_BYTES], char reason[SOCKET_PATH_REASON_BYTES]);

/*
 * Binds a listening SOCK_SEQPACKET socket at `path`: 0666 for root, whose device every user may use
 * as with a real one, else 0600. Returns the descriptor and fills `place`. Failures return a
 * negative errno with a sentence in `reason`: -EADDRINUSE when another daemon serves there or
 * another file is there.
 */
int socket_path_listen(const char *path, struct socket_path *place,
		       char reason[SOCKET_PATH_REASON_BYTES]);

/* Removes the socket, if the file at its path is still ours. */
void socket_path_remove(const struct socket_path *place);

#endif
