/* SPDX-License-Identifier: MIT */
/*
 * The control socket: accepts connections, receives requests with their descriptors, sends replies.
 * Owns the listening socket and its place in the file system. Nothing here blocks: a client that
 * does not take its replies is disconnected.
 */
#ifndef DAEMON_CONTROL_CTL_SERVER_H
#define DAEMON_CONTROL_CTL_SERVER_H

#include "control/socket_path.h"

#include <stdbool.h>
#include <stdint.h>

struct client_set;

struct ctl_server {
	struct client_set *set;
	int listen_fd;
	int spare_fd;	/* given up for a moment to refuse connections when descriptors run out */
	uint32_t first; /* which of those that are to be served is the first */
	struct socket_path place;
};

/*
 * Listens at `path`. Negative errno with a sentence in `reason`; the daemon cannot start then.
 */
int ctl_server_open(struct ctl_server *server, struct client_set *set, const char *path,
		    char reason[SOCKET_PATH_REASON_BYTES]);

/* Stops listening and removes the socket. Clients are not touched. */
void ctl_server_close(struct ctl_server *server);

/* Whether a request is to go on, whatever set->epoll_fd has to say. */
bool ctl_server_has_resumes(const struct ctl_server *server);

/*
 * Serves what set->epoll_fd has to say: connections, requests, hang-ups. Bounded;
 * what is left is reported again. Returns whether there was anything.
 */
bool ctl_server_poll(struct ctl_server *server);

#endif
