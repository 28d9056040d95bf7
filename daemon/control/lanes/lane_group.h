/* SPDX-License-Identifier: MIT */
/*
 * The sockets of one local address: a SO_REUSEPORT group on the RoCEv2 port, one socket for each
 * lane, in the order of their lanes. A program in the kernel gives a datagram to the socket of its
 * destination queue pair's lane; numbers below 0x800000 are lane 0, the control plane's.
 *
 * The kernel gives a batch whole to the lane of its first datagram: each receiver looks at each
 * datagram's lane. It merges only what has one source port; so a lane sends by eight sockets, one
 * for the destination lanes of each remainder modulo 8. Lane 0, which sends to lane 0 alone, has
 * one. It does not send by its receive socket, because the network's errors about what that sends
 * would reach any socket of the group.
 *
 * Where the kernel takes no program, the group has one socket, which is not steered. One process at
 * a time reads it: the holder of lane RNIC_LANE_FIRST, which passes on what is for lane 0, or lane
 * 0 while there is no such holder. Nobody sends by a receive socket: other users of the host may
 * have the RoCEv2 port at other addresses, and so may forge packets from this port.
 *
 * Invariant: the group holds all its sockets until it closes, whoever has duplicates. The last
 * close of one of them would give its place in the order to another. It gets its program once, when
 * it is opened.
 */
#ifndef DAEMON_CONTROL_LANES_LANE_GROUP_H
#define DAEMON_CONTROL_LANES_LANE_GROUP_H

#include "daemon/control/lanes/port_guards.h"
#include "lib/nic/port/port.h"
#include "lib/nic/port/udp/udp_lane_sockets.h"
#include "proto/base/lane.h"

#include <stdbool.h>
#include <stdint.h>

/* One socket for lane 0 and one for each other lane. */
#define LANE_GROUP_SOCKETS_MAX (1 + RNIC_LANE_LAST - RNIC_LANE_FIRST + 1)

struct lane_group_options {
	struct rnic_gid gid;
	uint32_t netdev_index; /* scope of a link-local address; way of multicast datagrams */
	uint16_t udp_port;     /* 0: RNIC_UDP_PORT; tests use another one */
	uint32_t socket_count; /* lanes with lane 0: lane_group_sockets_permitted() */
	bool is_gro_on;
	struct port_guards *guards; /* outlive the group */
};

struct lane_group {
	struct lane_group_options options;
	uint32_t socket_count;
	int fds[LANE_GROUP_SOCKETS_MAX];       /* lane 0, RNIC_LANE_FIRST, ... */
	bool is_given[LANE_GROUP_SOCKETS_MAX]; /* a lane's holder has a duplicate */
	uint64_t drained;		       /* datagrams that came for a lane without a holder */
};

/*
 * How many sockets each group may have where each lane costs `descriptors_each` and all lanes use
 * half of the descriptors that this process may open: RLIMIT_NOFILE, the hard limit. 1 to
 * LANE_GROUP_SOCKETS_MAX; 1 means that there are no lanes.
 */
uint32_t lane_group_sockets_permitted(uint32_t descriptors_each);

/*
 * Opens the group. Nobody else may have the port: the first socket is bound exclusively. Errors,
 * with a sentence in `text`: -EADDRINUSE, which names the process; -EBUSY when the port is taken
 * and no process with it is visible: another user has it, or the kernel still closes the sockets of
 * a process that has ended, and a later attempt may succeed; -EADDRNOTAVAIL not an address of this
 * machine; any other of socket(2), bind(2), setsockopt(2). No socket stays open then. A group of
 * one socket is not steered.
 */
int lane_group_open(struct lane_group *group, const struct lane_group_options *options,
		    char text[PORT_TEXT_BYTES]);
void lane_group_close(struct lane_group *group);

/* Whether this kernel lets a program choose among the sockets of a group. */
bool lane_group_can_steer(void);

/* Whether lane 0 and other lanes have sockets of their own. */
bool lane_group_is_steered(const struct lane_group *group);

/*
 * Gives the lane, 0 or one that the group has, to a holder: a duplicate of the empty receive
 * socket, and new send sockets (lane 0: the first one alone) at the ports of the guards. The caller
 * closes the descriptors. Errors with a sentence in `text`: of dup(2), socket(2), bind(2),
 * setsockopt(2); nothing is open then.
 */
int lane_group_take(struct lane_group *group, uint8_t lane, struct udp_lane_sockets *out,
		    char text[PORT_TEXT_BYTES]);

/*
 * Gives lane 0 what it needs while the holder of RNIC_LANE_FIRST reads the only socket: one send
 * socket, to which nothing arrives, in place of the receive socket. Errors as lane_group_take().
 */
int lane_group_take_sender(struct lane_group *group, struct udp_lane_sockets *out,
			   char text[PORT_TEXT_BYTES]);

/*
 * Ends the holding: drops what has come for the lane, and lets the free lane's socket keep next to
 * nothing. The holder may still have its descriptors, and may still read.
 */
void lane_group_give_back(struct lane_group *group, uint8_t lane);

/* The lane whose holder was given the socket `fds[index]`; 0: none, or lane 0. */
uint8_t lane_group_holder(const struct lane_group *group, uint32_t index);

/*
 * Whether the lane's receive socket still waits for datagrams from everybody. A holder, or whoever
 * got a duplicate from it, may have shut it down, so that it is readable for ever, or connected it.
 * Neither can be undone. True for the only socket of a group.
 */
bool lane_group_is_intact(const struct lane_group *group, uint8_t lane);

/*
 * Switches UDP_GRO of all receive sockets. The kernel merges by the setting of any member: all must
 * be alike.
 */
void lane_group_set_gro(struct lane_group *group, bool is_on);

#endif
