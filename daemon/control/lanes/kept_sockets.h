/* SPDX-License-Identifier: MIT */
/*
 * Sockets that the control plane has closed because their address is gone, and that the holders of
 * lanes had too. Whoever still has one keeps everybody from binding the address. What a holder says
 * of itself may be false, so the kernel's list of sockets is the judge.
 */
#ifndef DAEMON_CONTROL_LANES_KEPT_SOCKETS_H
#define DAEMON_CONTROL_LANES_KEPT_SOCKETS_H

#include "daemon/control/lanes/lane_group.h"

#include <stdint.h>

/* The sockets of all lanes at many addresses. Of more, the oldest are forgotten. */
#define KEPT_SOCKETS_MAX 2048

struct kept_socket {
	uint64_t inode;
	uint64_t look_ns; /* the next time to look for the socket */
	uint8_t lane;	  /* of the holder; 0: the entry is free */
	uint8_t looks;	  /* that are left */
};

/* Zeroed: there are none. */
struct kept_sockets {
	struct kept_socket entries[KEPT_SOCKETS_MAX]; /* a ring */
	uint32_t next;
	uint32_t count; /* entries that are not free */
};

/*
 * Notes the sockets of the group that holders have. Call it before the group is closed. The holders
 * have time for the end of theirs until `until_ns`.
 */
void kept_sockets_note(struct kept_sockets *kept, const struct lane_group *group,
		       uint64_t until_ns);

/* The holder of the lane has ended: another one has none of these sockets. */
void kept_sockets_forget(struct kept_sockets *kept, uint8_t lane);

/*
 * Looks for the sockets whose holders have had their time. Returns the lane of a holder that still
 * has one, and forgets this lane; 0: there is none, or none any more. Reads the kernel's list.
 */
uint8_t kept_sockets_find(struct kept_sockets *kept, uint64_t now_ns);

/* The time of the next look; UINT64_MAX: there is nothing to look for. */
uint64_t kept_sockets_next_deadline_ns(const struct kept_sockets *kept);

#endif
