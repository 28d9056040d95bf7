/* SPDX-License-Identifier: MIT */
/*
 * Turns --netdev and --address, or neither, into the facts that a device needs about its network:
 * interface, node GUID, speed. The device reads them once, at its start; netdev_watch.h then
 * follows MTU and addresses, which may change.
 *
 * The decisions are pure functions over a table of addresses; only addressing_resolve() asks the
 * system.
 */
#ifndef DAEMON_CONTROL_NETWORK_ADDRESSING_H
#define DAEMON_CONTROL_NETWORK_ADDRESSING_H

#include "daemon/control/network/gid_table.h"
#include "lib/nic/port/port.h"

#include <net/if.h>

struct addressing {
	char netdev[IF_NAMESIZE];
	uint32_t netdev_index;
	uint32_t netdev_mtu_bytes;
	uint32_t path_mtu_bytes; /* 256, 512, 1024, 2048 or 4096 */
	uint32_t speed_mbps;	 /* 0: unknown */
	uint64_t node_guid;	 /* host order */
	bool has_one_address;	 /* `address` is the only one the device may have */
	struct rnic_gid address; /* the only address, or the netdev's first one */
};

/*
 * Fills in `out`. `netdev` and `address` may be NULL. Errors, with a sentence in `text`: -EINVAL
 * `address` is not an address; -ENODEV no such interface; -ENETDOWN it is down; -EADDRNOTAVAIL the
 * address is not on this machine or not on that interface, or the interface has none; -EMSGSIZE its
 * MTU is below the need of the smallest path MTU; any other of getifaddrs(3).
 */
int addressing_resolve(struct addressing *out, const char *netdev, const char *address,
		       char text[PORT_TEXT_BYTES]);

/* One address of an interface. */
struct interface_address {
	char netdev[IF_NAMESIZE];
	bool is_up;
	bool is_loopback;
	struct rnic_gid gid;
};

/*
 * The default interface: `default_route`, if it is up and has an address, else the first that is up
 * and not loopback, else loopback. NULL when no interface has any address.
 */
const char *addressing_choose_netdev(const struct interface_address *addresses, uint32_t count,
				     const char *default_route);

/*
 * The interface, `netdev` if that is not NULL, that has the address `gid`; NULL when none has. All
 * of 127.0.0.0/8 counts as configured on the loopback interface.
 */
const char *addressing_find_netdev(const struct interface_address *addresses, uint32_t count,
				   const char *netdev, const struct rnic_gid *gid);

/*
 * Selects from the `count` addresses of the interface those that the device may have: all, or the
 * one in --address. Writes them to `out`, room for `count`, and returns their number. With one
 * address of 127.0.0.0/8 any of them is there.
 */
uint32_t addressing_filter(const struct addressing *addressing, const struct gid_address *addresses,
			   uint32_t count, struct gid_address *out);

/*
 * The largest path MTU whose longest packet fits `netdev_mtu_bytes` together with IPv6 and UDP
 * headers; 0 when none does.
 */
uint32_t addressing_path_mtu(uint32_t netdev_mtu_bytes);

/* EUI-64 of a MAC address (IBTA 1.4, 4.1.1). */
uint64_t addressing_guid_from_mac(const uint8_t mac[6]);

/* A locally administered EUI-64 for an interface that has no MAC address. */
uint64_t addressing_guid_from_gid(const struct rnic_gid *gid);

/* Finds the interface of the default route in `text`, the content of /proc/net/route. */
bool addressing_default_route_ipv4(const char *text, char netdev[IF_NAMESIZE]);

/* The same for /proc/net/ipv6_route. */
bool addressing_default_route_ipv6(const char *text, char netdev[IF_NAMESIZE]);

#endif
