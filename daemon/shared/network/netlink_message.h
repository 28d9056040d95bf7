/* SPDX-License-Identifier: MIT */
/*
 * Reads facts about interfaces, addresses, neighbours and routes out of the bytes of a
 * NETLINK_ROUTE datagram (rtnetlink(7)), and asks for such facts. The reader is pure, and
 * suspicious: wrong lengths end the datagram, and the reader never reads beyond it.
 */
#ifndef DAEMON_SHARED_NETWORK_NETLINK_MESSAGE_H
#define DAEMON_SHARED_NETWORK_NETLINK_MESSAGE_H

#include "proto/base/verbs_types.h"

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum netlink_fact_kind {
	NETLINK_LINK, /* an interface is, or has changed */
	NETLINK_LINK_GONE,
	NETLINK_ADDRESS, /* an interface has an address, or the address has changed */
	NETLINK_ADDRESS_GONE,
	NETLINK_NEIGHBOUR,   /* the kernel knows of a neighbour of an interface */
	NETLINK_ROUTE,	     /* the way to the address of the question */
	NETLINK_DUMP_END,    /* the end of the requested dump */
	NETLINK_DUMP_FAILED, /* ask again; or a question that is no dump failed */
};

struct netlink_fact {
	enum netlink_fact_kind kind;
	uint32_t netdev_index;	  /* ROUTE: that the packets leave by */
	int error;		  /* DUMP_FAILED: negative errno; 0: unknown */
	bool is_running;	  /* LINK: up, and with a carrier */
	bool has_neighbours;	  /* LINK: the kernel asks there for link addresses */
	uint32_t mtu_bytes;	  /* LINK; 0: unknown */
	char netdev[IF_NAMESIZE]; /* LINK: the interface's name */
	bool has_mac_id;	  /* LINK: the kernel makes its link-local address of `mac` */
	uint8_t mac[6];		  /* LINK with has_mac_id */
	struct rnic_gid gid;	  /* ADDRESS, ADDRESS_GONE, NEIGHBOUR; ROUTE: router, zero: none */
	bool is_duplicate;	  /* ADDRESS: another host has it too */
	bool is_silent;		  /* NEIGHBOUR: it has not answered requests for its link address */
	bool is_known;		  /* NEIGHBOUR: the kernel has its link address */
	bool is_to_host;	  /* ROUTE: to another host, not to this one or to several */
};

struct nlmsghdr;

struct netlink_reader {
	const struct nlmsghdr *message; /* the next one */
	int left_bytes;
	bool was_interrupted; /* the facts changed during the dump: the dump is incomplete */
};

/* Begins to read a datagram, which stays the caller's and begins at a multiple of 4 bytes. */
void netlink_reader_init(struct netlink_reader *reader, const void *bytes, size_t length);

/*
 * The next fact of the datagram; false when there is none left. Skips messages about other things,
 * and addresses of other families.
 */
bool netlink_next(struct netlink_reader *reader, struct netlink_fact *fact);

/*
 * Sends a request of that type, with `header` of the type's family behind the message's own header,
 * by the NETLINK_ROUTE socket `fd`. Negative errno of send(2).
 */
int netlink_request(int fd, uint16_t type, uint16_t flags, const void *header, size_t header_bytes);

#endif
