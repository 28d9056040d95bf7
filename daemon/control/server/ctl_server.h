/* SPDX-License-Identifier: MIT */
/*
 * The control socket: makes a client of each connection. Owns the listening socket and its path in
 * the file system.
 */
#ifndef DAEMON_CONTROL_SERVER_CTL_SERVER_H
#define DAEMON_CONTROL_SERVER_CTL_SERVER_H

#include "daemon/control/server/barred_users.h"
#include "daemon/control/server/socket_path.h"

#include <stdint.h>

struct client_set;
struct request_server;

struct ctl_server_config {
	const char *path; /* of the control socket */
	mode_t mode;	  /* whom its permissions let connect */
	int taken_fd;	  /* that a service manager has opened at the path; -1: none */
};

struct ctl_server {
	struct client_set *set;
	int listen_fd;
	uint64_t rights; /* peer_user_rights() of the daemon at its start */
	uid_t unmapped;	 /* peer_user_unmapped() */
	int spare_fd;	 /* closed for a moment to refuse connections when descriptors run out; -1:
			    there is none, and nothing is accepted */
	uint64_t retry_ns; /* when to look for a descriptor again; UINT64_MAX: nothing is missing */
	struct socket_path place;
	struct barred_users barred;
	uint64_t no_bar_until_ns; /* the list of the socket's file cannot change; ask again then */
};

/* Listens. Negative errno with a sentence in `reason`: the daemon cannot start. */
int ctl_server_open(struct ctl_server *server, struct client_set *set,
		    const struct ctl_server_config *config, char reason[SOCKET_PATH_REASON_BYTES]);

/* Stops listening and removes the socket. The clients stay connected. */
void ctl_server_close(struct ctl_server *server);

/*
 * Accepts connections again when descriptors have become free, and lets users connect again whose
 * time is over. Until then neither wakes anybody.
 */
void ctl_server_follow(struct ctl_server *server, uint64_t now_ns);

/* When ctl_server_follow() has something to do; UINT64_MAX: nothing is missing. */
uint64_t ctl_server_next_deadline_ns(const struct ctl_server *server);

/* Accepts a connection to the control socket: the callback request_role.accept. */
void ctl_server_accept(struct request_server *requests);

#endif
