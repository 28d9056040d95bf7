/* SPDX-License-Identifier: MIT */
/*
 * Chooses the path of the control socket and takes that path for the daemon: the daemon replaces a
 * socket that no program serves any more, but not a socket that another daemon serves. Failures are
 * sentences for the person who started the daemon.
 */
#ifndef DAEMON_CONTROL_SERVER_SOCKET_PATH_H
#define DAEMON_CONTROL_SERVER_SOCKET_PATH_H

#include <stddef.h>
#include <sys/types.h>

#define SOCKET_PATH_PATH_BYTES	 108 /* of sockaddr_un.sun_path */
#define SOCKET_PATH_REASON_BYTES 256

struct identity;

/*
 * A bound socket, and the file at its path: the daemon removes only that file in the end. Inode 0:
 * the file is a service manager's.
 */
struct socket_path {
	char path[SOCKET_PATH_PATH_BYTES];
	dev_t device;
	ino_t inode;
};

/*
 * Stores the default path: $RNIC_SOCKET, else /run/rnicd/rnicd.sock for root, else
 * $XDG_RUNTIME_DIR/rnicd.sock, else /tmp/rnicd-UID/rnicd.sock. Negative errno with a sentence in
 * `reason`: -ENAMETOOLONG, or -EINVAL when $RNIC_SOCKET names several sockets, as clients may.
 */
int socket_path_default(char path[SOCKET_PATH_PATH_BYTES], char reason[SOCKET_PATH_REASON_BYTES]);

/*
 * Makes the directory of `path` where that is the daemon's to make: /run/rnicd for root (0755), and
 * /tmp/rnicd-UID (0700); both are checked to be ours alone. For a daemon of root that is to become
 * `owner`, makes any directory that is missing, and gives the directory to that user. Negative
 * errno with a sentence in `reason`: -EPERM when the directory is somebody else's.
 */
int socket_path_prepare(const char *path, const struct identity *owner,
			char reason[SOCKET_PATH_REASON_BYTES]);

/*
 * Says early what socket_path_listen() would refuse to a daemon of `owner`: a directory where
 * root's socket would not be safe (socket_directory.h), another daemon that serves at `path`,
 * another file there. Changes nothing. Negative errno with a sentence in `reason`.
 */
int socket_path_check(const char *path, const struct identity *owner,
		      char reason[SOCKET_PATH_REASON_BYTES]);

/*
 * Binds a listening SOCK_SEQPACKET socket at `path`. `mode` are the permissions of its file: who
 * may write to the file may connect, and so far as the folders of the path let through. The answer
 * to HELLO says whom the daemon does not serve. Returns the descriptor and fills `place`. Failures
 * return a negative errno with a sentence in `reason`: -EADDRINUSE when another daemon serves there
 * or another file is there; -EPERM when the directory is not safe for root.
 */
int socket_path_listen(const char *path, mode_t mode, struct socket_path *place,
		       char reason[SOCKET_PATH_REASON_BYTES]);

/*
 * Takes over the listening socket `fd` that a service manager bound at `path`, and fills `place`.
 * -EINVAL with a sentence in `reason`: `fd` is something else; -EPERM as socket_path_listen().
 */
int socket_path_adopt(int fd, const char *path, struct socket_path *place,
		      char reason[SOCKET_PATH_REASON_BYTES]);

/* Removes the socket, if the file at its path is still ours. */
void socket_path_remove(const struct socket_path *place);

#endif
