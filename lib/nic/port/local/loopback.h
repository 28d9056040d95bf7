/* SPDX-License-Identifier: MIT */
/*
 * The same-host path: a port that keeps datagrams to our own addresses in a queue until the next
 * receive, and passes all others on to the port below. Of a device with lanes each process keeps
 * what is for its own lane alone (lane.h); what is for other lanes goes out like any datagram. A
 * datagram from the queue looks as if it had crossed a wire, ICRC included, so that no port above
 * sees a difference. A capture above records these datagrams once, as received.
 */
#ifndef LIB_NIC_PORT_LOCAL_LOOPBACK_H
#define LIB_NIC_PORT_LOCAL_LOOPBACK_H

#include "lib/nic/port/port.h"

#define LOOPBACK_GIDS_MAX 32

/* The longest queue; the port takes no further datagrams until a receive has made room. */
#define LOOPBACK_QUEUE_MAX 128

/*
 * `next` may be NULL: then datagrams to other addresses count as send_refused. The port owns `next`
 * from here on and closes it with itself. The call copies `gids`, up to LOOPBACK_GIDS_MAX of them,
 * of which some may be zero. `lane` is RNIC_LANE_NONE, RNIC_LANE_ZERO or a lane. NULL: out of
 * memory; `next` is still the caller's.
 */
struct port *loopback_create(struct port *next, const struct rnic_gid *gids, uint32_t gid_count,
			     uint8_t lane);

#endif
