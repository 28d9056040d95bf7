/* SPDX-License-Identifier: MIT */
/*
 * Follows the device's network interface. GID table, path MTU and port state become those of the
 * interface, in the facts for clients and in the device processes, which raise the events
 * (IBTA 1.4, 11.6.3). The control plane owns this object.
 *
 * Invariant: a device process knows an address at the same index as the GID table. An address keeps
 * its index while a queue pair or an address handle sends from it, also when the interface has lost
 * it: packets are then lost until the address is back. So queue pairs live on when the interface
 * goes and another one of its name comes, as long as that gets the address.
 */
#ifndef DAEMON_CONTROL_NETWORK_DEVICE_NETWORK_H
#define DAEMON_CONTROL_NETWORK_DEVICE_NETWORK_H

#include "daemon/control/network/gid_table.h"
#include "daemon/control/network/neighbour_queries.h"
#include "daemon/control/network/netdev_watch.h"

struct addressing;
struct device_facts;
struct device_view;

/* Who has sockets at the addresses: lanes and device processes. */
struct network_user {
	/*
	 * Gives all the GID `gid` at `index`; NULL: none. Negative errno with a sentence in `text`;
	 * the slot is empty then. -EBUSY: no visible process has the port, so a later attempt may
	 * succeed.
	 */
	int (*set_gid)(void *context, uint32_t index, const struct rnic_gid *gid,
		       char text[PORT_TEXT_BYTES]);
	/*
	 * The interface has this index from now on. Meanwhile the user has no GID: each comes anew
	 * with its address.
	 */
	void (*set_netdev)(void *context, uint32_t netdev_index);
	/* Tells all that the facts have changed. */
	void (*set_facts)(void *context, uint32_t path_mtu_bytes);
	/* Whether anything still sends from the GID at `index`. */
	bool (*uses_gid)(void *context, uint32_t index);
	void *context;
};

/*
 * The owner sets `addressing`, `facts` and `view` before device_network_open(), and `user` before
 * device_network_begin().
 */
struct device_network {
	struct addressing *addressing; /* that names the interface; netdev_index is kept right */
	struct device_facts *facts;    /* for clients */
	struct network_user user;
	struct device_view *view;
	struct netdev_watch watch;
	struct neighbour_queries neighbours; /* for the connection manager's clients */
	int route_fd;			     /* a NETLINK_ROUTE socket for questions */
	struct gid_table gids;
	struct rnic_gid known[GID_TABLE_SLOTS]; /* to the user */
	uint32_t refused;      /* by GID index: the user could not use the address */
	uint64_t retry_ns;     /* when the user gets the refused ones again; UINT64_MAX: never */
	uint64_t retry_gap_ns; /* before that */
	bool is_gone;	       /* the interface, as far as the user knows */
};

/*
 * Begins to follow the interface that `addressing` names, and makes the GID table; the user
 * does not know the table yet. Negative errno with a sentence in `reason`.
 */
int device_network_open(struct device_network *network, char *reason);
void device_network_close(struct device_network *network);

/* The usable GIDs by index, zero where there is none. Returns the number of slots to look at. */
uint32_t device_network_gids(const struct device_network *network,
			     struct rnic_gid gids[GID_TABLE_SLOTS]);

/* Cuts the link, or mends it: port state and facts follow. The user drops or passes the packets. */
void device_network_cut(struct device_network *network, bool is_cut);

/* Updates the facts, which clients get. */
void device_network_fill_facts(struct device_network *network);

/*
 * Gives the user all GIDs and facts. Negative errno with a sentence in `reason` when no sockets can
 * be had at an address. Waits up to two seconds for a port that no visible process has: the kernel
 * closes the sockets of an ended process with io_uring some time after its end.
 */
int device_network_begin(struct device_network *network, char *reason);

/*
 * Gives the addresses whose GIDs nobody uses other indexes, as if they had gone and come again. The
 * others keep theirs.
 */
void device_network_renumber(struct device_network *network);

/* Processes all changes of the interface. */
void device_network_follow(struct device_network *network);

/*
 * Ends queries for neighbours. Tries again with addresses that could not be used, at first a second
 * later, and then more and more rarely: who has the port there may end.
 */
void device_network_tick(struct device_network *network, uint64_t now_ns);

/* When device_network_tick() is due; UINT64_MAX: never. */
uint64_t device_network_next_deadline_ns(const struct device_network *network);

#endif
