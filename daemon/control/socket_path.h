/* SPDX-License-Identifier: MIT */
/*
 * Where the control socket lies, and how a daemon comes to own that place: a socket that nobody
 * serves any more is replaced, one that a daemon serves is not. Failures are sentences for the
 * person who started the daemon.
 */
#ifndef DAEMON_CONTROL_SOCKET_PATH_H
#define DAEMON_CONTROL_SOCKET_PATH_H

#include <stddef.h>
#include <sys/types.h>

#define SOCKET_PATH_PATH_BYTES	 108 /* of sockaddr_un.sun_path */
#define SOCKET_PATH_REASON_BYTES 256

/* A bound socket, and what lies at its path, so that nothing else is removed in the end. */
struct socket_path {
	char path[SOCKET_PATH_PATH_BYTES];
	dev_t device;
	ino_t inode;
};

/*
 * The path to use when none was given: $RNIC_SOCKET, else /run/rnicd/rnicd.sock for root, else
 * $XDG_RUNTIME_DIR/rnicd.sock, else /tmp/rnicd-UID/rnicd.sock. Makes the directory of the second
 * (0755) and the last (0700, ours alone: checked). Negative errno with a sentence in `reason`.
 */
int socket_path_default(char path[SOCKET_PATH_PATH_BYTES], char reason[SOCKET_PATH_REASON_BYTES]);

/*
 * Binds a listening SOCK_SEQPACKET socket at `path`: 0666 for root, whose device is everybody's as
 * a real one is, else 0600. Returns the descriptor and fills `place`. -EADDRINUSE when a daemon
 * serves there or something else is there; other negative errno; with a sentence in `reason`.
 */
int socket_path_listen(const char *path, struct socket_path *place,
		       char reason[SOCKET_PATH_REASON_BYTES]);

/* Removes the socket, if what lies at its path is still ours. */
void socket_path_remove(const struct socket_path *place);

#endif
