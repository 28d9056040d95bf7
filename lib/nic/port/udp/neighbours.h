/* SPDX-License-Identifier: MIT */
/*
 * Neighbours on the link that do not answer (ARP, neighbour discovery). The kernel keeps packets to
 * a neighbour that it is looking for, hundreds of kilobytes for three seconds, in the send buffer
 * of the socket that sent them: a few such neighbours fill it, and nothing goes to anybody. So who
 * finds a socket full for long asks the kernel for them, and holds back packets to them: they are
 * lost, as they would be. One goes now and then, or the kernel would look for them no more.
 *
 * Owned by the UDP sockets. What is behind a router is not known here: the router is one neighbour.
 */
#ifndef NIC_PORT_UDP_NEIGHBOURS_H
#define NIC_PORT_UDP_NEIGHBOURS_H

#include "base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

#define NEIGHBOURS_MAX	   64
#define NEIGHBOURS_LOOK_NS UINT64_C(200000000) /* no sooner again */
#define NEIGHBOURS_TRY_NS  UINT64_C(500000000) /* between packets to one of them */

struct netlink_fact;

struct neighbours {
	uint32_t netdev_index;
	uint32_t count;
	uint64_t look_at_ns;
	struct {
		struct rnic_gid gid;
		uint64_t try_at_ns;
	} silent[NEIGHBOURS_MAX];
};

void neighbours_init(struct neighbours *neighbours, uint32_t netdev_index);

/* Asks the kernel who does not answer, unless that was done a short while ago. Does not wait. */
void neighbours_look(struct neighbours *neighbours, uint64_t now_ns);

/* Takes one of the answers: adds who does not answer on this interface. */
void neighbours_apply(struct neighbours *neighbours, const struct netlink_fact *fact,
		      uint64_t now_ns);

/* Whether `gid` does not answer, as far as is known. */
bool neighbours_has(const struct neighbours *neighbours, const struct rnic_gid *gid);

/* Whether a packet to `gid` is to be held back; false also when it is its turn to be tried. */
bool neighbours_try_hold(struct neighbours *neighbours, const struct rnic_gid *gid,
			 uint64_t now_ns);

#endif
