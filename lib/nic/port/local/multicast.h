/* SPDX-License-Identifier: MIT */
/*
 * A port that adds the datagrams of multicast groups to those of the port below. Each group has a
 * socket of its own, bound to the group's address: the sockets below are bound to our addresses and
 * receive nothing else. The port below sends, because a group is a destination like any other.
 *
 * Devices on one machine may join the same group: each gets its copy, the sender's own device too.
 * The kernel makes all copies. The port opens no socket: another process joins for the lane and
 * gives the socket.
 */
#ifndef LIB_NIC_PORT_LOCAL_MULTICAST_H
#define LIB_NIC_PORT_LOCAL_MULTICAST_H

#include "lib/nic/port/port.h"

#define MULTICAST_GROUPS_MAX 64

/* Tells how often a datagram to `group`, which is joined, will be delivered. */
struct multicast_copies {
	uint32_t (*count)(void *context, const struct rnic_gid *group);
	void *context;
};

/*
 * Puts the port on top of `next`, which it owns from then on. -ENOMEM, or an error of
 * epoll_create1(2), with a sentence in `text`; `next` is then still the caller's.
 */
int multicast_open(struct port **port, struct port *next, const struct multicast_copies *copies,
		   char text[PORT_TEXT_BYTES]);

/*
 * Adds a group whose socket another process opened (udp_group_open()), and which the port closes,
 * also when it fails. -EEXIST: the group is there; -ENOSPC: too many groups; or the errno of the
 * system.
 */
int multicast_give(struct port *port, const struct rnic_gid *group, int fd);

/* Leaves a group, and closes its socket. -EINVAL: the group was not joined. */
int multicast_leave(struct port *port, const struct rnic_gid *group);

#endif
