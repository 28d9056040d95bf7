/* SPDX-License-Identifier: MIT */
/*
 * The UDP ports that the device sends from, kept from other users of the host. Whoever binds a port
 * at any address may name any local address as the source of a packet (IP_PKTINFO). So for each of
 * these ports there is a guard: a socket at all addresses of both families, with SO_REUSEPORT. The
 * kernel then gives the port to sockets of the same user alone, at whichever address.
 *
 * Each row is a port: 8 for each lane and one for lane 0 (lane.h). A row whose port is another
 * program's gets a port of the kernel's choice, with a guard as well: peers take the packets of a
 * queue pair from one port, whichever it is (--peer-ports pinned).
 *
 * One such object belongs to the lanes of a device. A guard stays open as long as the object.
 */
#ifndef DAEMON_CONTROL_LANES_PORT_GUARDS_H
#define DAEMON_CONTROL_LANES_PORT_GUARDS_H

#include "proto/base/lane.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PORT_GUARDS_LANES (RNIC_LANE_LAST - RNIC_LANE_FIRST + 1)
#define PORT_GUARDS_MAX	  (PORT_GUARDS_LANES * RNIC_LANE_SEND_SOCKETS + 1)

/* Room for port_guards_text() and port_guards_warning(). */
#define PORT_GUARDS_TEXT_BYTES	  96
#define PORT_GUARDS_WARNING_BYTES 200

struct port_guard {
	int fd;	       /* -1: none */
	uint16_t port; /* 0: not asked for yet */
};

struct port_guards {
	uid_t owner; /* of the sockets: the user as whom the device runs */
	struct port_guard guards[PORT_GUARDS_MAX];
	uint32_t guarded_count;
	uint32_t taken_count; /* rows whose own port is another program's */
	uint32_t open_count;  /* rows without a guard */
	int open_error;	      /* why: a negative errno */
	uint16_t taken_port;  /* the first one */
	uid_t taken_by;	      /* its user, where the kernel's list names one */
	bool has_taken_by;
	bool has_news; /* since port_guards_take_news() */
};

/*
 * Opens nothing yet. `owner` is the effective user, or another one whom a process of root is going
 * to become.
 */
void port_guards_init(struct port_guards *guards, uid_t owner);
void port_guards_close(struct port_guards *guards);

/* Holds the ports of lane 0 and of the first `lane_count` lanes from now on. */
void port_guards_hold_all(struct port_guards *guards, uint32_t lane_count);

/*
 * Holds the ports of `lane`, 0 or one of RNIC_LANE_FIRST to RNIC_LANE_LAST, unless that is done
 * already. Never fails: without a descriptor for the guard the port is used without one.
 */
void port_guards_hold(struct port_guards *guards, uint8_t lane);

/* The port of send socket `index` of a lane that is held. */
uint16_t port_guards_port(const struct port_guards *guards, uint8_t lane, uint32_t index);

/*
 * Gives a socket that is not bound yet to the user of the guards: the kernel compares the sockets'
 * users. Negative errno of fchown(2).
 */
int port_guards_own(const struct port_guards *guards, int fd);

/* Whether a guard, or a port without one, came since the last call. */
bool port_guards_take_news(struct port_guards *guards);

/* For people: how many ports are held, and which are not. */
void port_guards_text(const struct port_guards *guards, char text[PORT_GUARDS_TEXT_BYTES]);

/* A sentence for the log where not all ports are as they should be. False: all are. */
bool port_guards_warning(const struct port_guards *guards, char text[PORT_GUARDS_WARNING_BYTES]);

#endif
