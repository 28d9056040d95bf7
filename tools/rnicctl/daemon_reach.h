/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_RNICCTL_DAEMON_REACH_H
#define TOOLS_RNICCTL_DAEMON_REACH_H

#include "lib/client/admin/admin_link.h"
#include "lib/client/native/socket_list.h"

/*
 * Opens the link to the daemon on the socket `given` by the user (NULL: none). Where the user names
 * no socket and has no daemon, the link leads to the machine's daemon, as rnic-run's does. The
 * caller closes the link. Negative errno with a complaint on standard error: the command ends.
 */
int daemon_reach(struct admin_link *link, const char *given);

/* The same, and stores the absolute path of the daemon's socket. */
int daemon_reach_path(struct admin_link *link, const char *given,
		      char path[RNIC_SOCKET_PATH_BYTES]);

#endif
