/* SPDX-License-Identifier: MIT */
/*
 * Neighbours on the link that do not answer (ARP, neighbour discovery). The kernel keeps packets to
 * a neighbour that it is looking for, hundreds of kilobytes for three seconds, in the send buffer
 * of the socket that sent them. A few such neighbours fill the buffer, and no packet leaves any
 * more. So a port whose socket stays full has the kernel asked for the silent neighbours, and holds
 * back packets to them: those packets are lost, as they would be in any case. One packet goes now
 * and then, or the kernel would stop looking for the neighbour.
 *
 * The UDP sockets own this list. It knows nothing of hosts behind a router: the router is one
 * neighbour. The port makes no call to the kernel about neighbours; `neighbours_ask` does.
 */
#ifndef LIB_NIC_PORT_UDP_NEIGHBOURS_H
#define LIB_NIC_PORT_UDP_NEIGHBOURS_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

#define NEIGHBOURS_MAX	   64
#define NEIGHBOURS_LOOK_NS UINT64_C(200000000) /* no sooner again */
#define NEIGHBOURS_TRY_NS  UINT64_C(500000000) /* between packets to one */

/*
 * Writes the GIDs of up to `max` silent neighbours on that interface, and returns their number.
 * Negative errno: the kernel could not be asked, and the neighbours known before stay. Does not
 * wait.
 */
typedef int neighbours_ask(uint32_t netdev_index, struct rnic_gid *silent, uint32_t max);

struct neighbours {
	neighbours_ask *ask; /* NULL: the port asks nobody and holds nothing back */
	uint32_t netdev_index;
	uint32_t count;
	uint64_t look_at_ns;
	struct {
		struct rnic_gid gid;
		uint64_t try_at_ns;
	} silent[NEIGHBOURS_MAX];
};

void neighbours_init(struct neighbours *neighbours, neighbours_ask *ask, uint32_t netdev_index);

/* Asks for the silent neighbours through the owner, unless the last time was short ago. */
void neighbours_look(struct neighbours *neighbours, uint64_t now_ns);

/* Adds a neighbour that does not answer. */
void neighbours_add(struct neighbours *neighbours, const struct rnic_gid *gid, uint64_t now_ns);

/* Whether `gid` is known not to answer. */
bool neighbours_has(const struct neighbours *neighbours, const struct rnic_gid *gid);

/* Whether the caller must hold back a packet to `gid`; false also when the next try is due. */
bool neighbours_try_hold(struct neighbours *neighbours, const struct rnic_gid *gid,
			 uint64_t now_ns);

#endif
