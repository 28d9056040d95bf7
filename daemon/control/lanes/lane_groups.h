/* SPDX-License-Identifier: MIT */
/*
 * All lanes of a device: the group of sockets of each of its addresses, and which lanes are free.
 * The control plane owns one such object, opens a group for each address, and gives the sockets of
 * a lane at each address to the lane's holder.
 *
 * A group whose address goes rests for some seconds, because the holders of its lanes close their
 * duplicates later: until then nobody could bind the address anew. An address that comes back
 * meanwhile gets its group again.
 */
#ifndef DAEMON_CONTROL_LANES_LANE_GROUPS_H
#define DAEMON_CONTROL_LANES_LANE_GROUPS_H

#include "daemon/control/lanes/kept_sockets.h"
#include "daemon/control/lanes/lane_group.h"
#include "daemon/control/lanes/lane_table.h"
#include "lib/nic/port/udp/segmentation.h"
#include "proto/base/maxima.h"

#define LANE_GROUPS_RESTING_MAX 8
#define LANE_GROUPS_REST_NS	UINT64_C(10000000000)

/* What the control plane opens for the holder of a lane: link, PID, an answer that waits; and the
 * guards of the lane's ports. */
#define LANE_GROUPS_HOLDER_DESCRIPTORS (3 + RNIC_LANE_SEND_SOCKETS)

struct lane_groups_config {
	uint32_t netdev_index; /* scope of link-local addresses */
	uint16_t udp_port;     /* 0: RNIC_UDP_PORT; tests use another one */
	uint32_t gid_slots;    /* that the device may use: 1 to RNIC_GIDS_MAX */
	enum segmentation_mode segmentation;
	uid_t owner;	 /* of the sockets: port_guards_init() */
	bool serves_all; /* other users have lanes: the ports of all lanes are held from the start
			  */
};

/* Room for lane_groups_text(). */
#define LANE_GROUPS_TEXT_BYTES 64

struct resting_group {
	struct lane_group group; /* without sockets: the place is free */
	uint64_t until_ns;
};

struct lane_groups {
	struct lane_groups_config config;
	uint32_t sockets_each; /* of a group; 1: lane RNIC_LANE_FIRST alone */
	const char *scarcity;  /* why there are fewer lanes than a device can have; NULL */
	struct lane_group groups[RNIC_GIDS_MAX]; /* by GID index; without sockets: none */
	struct resting_group resting[LANE_GROUPS_RESTING_MAX];
	struct lane_table table;
	struct port_guards guards;
	struct segmentation segmentation; /* and so UDP_GRO of all sockets */
	uint64_t drained;		  /* datagrams of groups that are gone */
	struct kept_sockets kept;	  /* of resting groups that were closed */
};

/*
 * Finds how many lanes this process may have, and holds their ports where they are for all users.
 * `text` gets a sentence for the log when there are fewer lanes than a device can have, else it is
 * empty.
 */
void lane_groups_init(struct lane_groups *groups, const struct lane_groups_config *config,
		      uint64_t now_ns, char text[PORT_TEXT_BYTES]);
void lane_groups_close(struct lane_groups *groups);

/*
 * Opens the group of `gid` at the empty `index`, or (NULL) lets the group at `index` rest. Errors
 * are those of lane_group_open(); the index stays empty then.
 */
int lane_groups_set_gid(struct lane_groups *groups, uint32_t index, const struct rnic_gid *gid,
			uint64_t now_ns, char text[PORT_TEXT_BYTES]);

/*
 * The interface has this index from now on; no index has a group. Groups of link-local addresses,
 * which are bound to the interface, rest no longer.
 */
void lane_groups_set_netdev(struct lane_groups *groups, uint32_t netdev_index);

/* Whether there is a group at `index`. */
bool lane_groups_has(const struct lane_groups *groups, uint32_t index);

/*
 * Whether lane 0 has sockets of its own. Otherwise the device has one lane, RNIC_LANE_FIRST, and
 * lane 0 reads while this lane has no holder (lane_group.h).
 */
bool lane_groups_are_steered(const struct lane_groups *groups);

/* How many lanes device processes can have, all in all. */
uint32_t lane_groups_count(const struct lane_groups *groups);

/* The same for people: "127", or "one" and why. */
void lane_groups_text(const struct lane_groups *groups, char text[LANE_GROUPS_TEXT_BYTES]);

/* How many descriptors lanes and their holders have open at most, resting groups included. */
uint32_t lane_groups_descriptors_max(const struct lane_groups *groups);

/* The GID of the group at `index`, where a group is. */
const struct rnic_gid *lane_groups_gid(const struct lane_groups *groups, uint32_t index);

/*
 * Stores a free lane for the user in `lane`, or -ENOSPC with a sentence in `text`. The lane has no
 * sockets yet.
 */
int lane_groups_take(struct lane_groups *groups, const struct lane_user *user, uint8_t *lane,
		     char text[PORT_TEXT_BYTES]);

/* The sockets of a taken lane, or of lane 0, at `index`, where a group is: lane_group_take(). */
int lane_groups_take_sockets(struct lane_groups *groups, uint32_t index, uint8_t lane,
			     struct udp_lane_sockets *out, char text[PORT_TEXT_BYTES]);

/* Lane 0's sockets while RNIC_LANE_FIRST has the only one: lane_group_take_sender(). */
int lane_groups_take_sender(struct lane_groups *groups, uint32_t index,
			    struct udp_lane_sockets *out, char text[PORT_TEXT_BYTES]);

/*
 * The lane's holder has ended: empties the lane's sockets at all addresses. False: the holder
 * spoiled one of them, and the lane is only for this user from now on.
 */
bool lane_groups_give_back(struct lane_groups *groups, uint8_t lane);

/*
 * Switches UDP_GRO where a capture has begun or ended, and closes groups that have rested. Call it
 * in each turn. Returns a lane whose holder has kept a socket of such a group for all the time, and
 * so the address from everybody: the caller ends the holder. 0: there is none.
 */
uint8_t lane_groups_follow(struct lane_groups *groups, uint64_t now_ns);

/* The time of the next lane_groups_follow() that has something to do; UINT64_MAX: never. */
uint64_t lane_groups_next_deadline_ns(const struct lane_groups *groups);

/* How many datagrams came for lanes without a holder. */
uint64_t lane_groups_drained(const struct lane_groups *groups);

#endif
