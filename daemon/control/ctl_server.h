/* SPDX-License-Identifier: MIT */
/*
 * The control socket: accepts connections, receives requests with their descriptors, and sends
 * replies. Owns the listening socket and its path in the file system. Nothing here blocks: a client
 * that does not take its replies is disconnected.
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
	int spare_fd;	/* closed for a moment to refuse connections when descriptors run out */
	uint32_t first; /* counts up; picks the reported client that is served first */
	struct socket_path place;
};

/* Listens at `path`. Negative errno with a sentence in `reason`: the daemon cannot start. */
int ctl_server_open(struct ctl_server *server, struct client_set *set, const char *path,
		    char reason[SOCKET_PATH_REASON_BYTES]);

/* Stops listening and removes the socket. The clients stay connected. */
void ctl_server_close(struct ctl_server *server);

/* Returns whether a deferred request is to go on, independent of set->epoll_fd. */
bool ctl_server_has_resumes(const struct ctl_server *server);

/*
 * Serves the events of set->epoll_fd: connections, requests, hang-ups. The work is bounded; epoll
 * reports the rest again. Returns whether there was anything.
 */
bool ctl_server_poll(struct ctl_server *server);

#endif
