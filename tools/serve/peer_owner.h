/* SPDX-License-Identifier: MIT */
/* The user at the other end of a TCP connection within this host. */
#ifndef TOOLS_SERVE_PEER_OWNER_H
#define TOOLS_SERVE_PEER_OWNER_H

#include <netinet/in.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * Finds the socket with the address `peer`, connected to `port` of this host, in `table`, which has
 * the form of /proc/net/tcp. Returns 0 and its user, or -ENOENT.
 */
int peer_owner_find(FILE *table, const struct sockaddr_in *peer, uint16_t port, uid_t *uid);

#endif
