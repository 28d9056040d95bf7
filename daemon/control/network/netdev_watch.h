/* SPDX-License-Identifier: MIT */
/*
 * Follows one network interface by a NETLINK_ROUTE socket: carrier, MTU, addresses, its end, and
 * its return under the same name. The watch owns the socket; the caller polls the socket for
 * reading.
 *
 * The watch misses nothing for long: after the kernel dropped messages, it asks for all addresses
 * again, and the answer comes by the same socket.
 */
#ifndef DAEMON_CONTROL_NETWORK_NETDEV_WATCH_H
#define DAEMON_CONTROL_NETWORK_NETDEV_WATCH_H

#include "daemon/control/network/netdev_state.h"
#include "lib/nic/port/port.h"

#define NETDEV_WATCH_BUFFER_BYTES 32768 /* longer than any datagram of the kernel's dumps */

struct netdev_watch {
	int fd;
	bool is_dumping;
	bool is_stale;	       /* messages were lost since the dump began */
	uint32_t failed_dumps; /* one after the other */
	struct netdev_state state;
	/* Hears of neighbours whose link address the kernel knows; NULL: nobody does. */
	void (*heard)(void *context, const struct netlink_fact *neighbour);
	void *context;
	struct netlink_reader reader; /* of `buffer` */
	_Alignas(8) uint8_t buffer[NETDEV_WATCH_BUFFER_BYTES];
};

/*
 * Begins to follow the interface; on return watch->state is the present state. Errors, with a
 * sentence in `text`: -ETIMEDOUT the kernel does not answer; -ENODEV the interface is gone; any
 * other of socket(2), bind(2), send(2).
 */
int netdev_watch_open(struct netdev_watch *watch, const char *netdev, uint32_t netdev_index,
		      char text[PORT_TEXT_BYTES]);
void netdev_watch_close(struct netdev_watch *watch);

/*
 * Begins or ends to hear of neighbours, of all interfaces. News is lost when the kernel drops
 * messages. Negative errno of setsockopt(2).
 */
int netdev_watch_hear(struct netdev_watch *watch, bool is_wanted);

/*
 * Reads, without waiting, until the interface has changed. True: watch->state is the new state.
 * False: there is nothing left to read.
 */
bool netdev_watch_next(struct netdev_watch *watch);

#endif
