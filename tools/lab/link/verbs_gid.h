/* SPDX-License-Identifier: MIT */
/* Chooses among the addresses of a port. */
#ifndef TOOLS_LAB_LINK_VERBS_GID_H
#define TOOLS_LAB_LINK_VERBS_GID_H

#include <infiniband/verbs.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * How well a GID of type `type` fits a connection with the local address `local`, NULL for unknown.
 */
int verbs_gid_score(const union ibv_gid *gid, uint32_t type, const struct sockaddr *local);

/* Finds the best GID of the port; returns its index. -ENOENT: the port has none. */
int verbs_gid_find(struct ibv_context *context, uint8_t port, int count,
		   const struct sockaddr *local);

#endif
