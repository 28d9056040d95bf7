/* SPDX-License-Identifier: MIT */
/*
 * The multicast groups of a device process. The control plane alone joins groups and opens their
 * sockets; a device process asks by a message (JOIN), and gets the socket with the answer (JOINED).
 * So the request of a client that joins a group waits, for GROUP_JOINS_WAIT_NS at most, and is
 * carried out anew until the answer is there.
 *
 * The object only decides. `send` sends the messages, and may fail while the link is full: the next
 * group_joins_tick() tries again.
 */
#ifndef DAEMON_DEVICE_LINK_GROUP_JOINS_H
#define DAEMON_DEVICE_LINK_GROUP_JOINS_H

#include "lib/nic/engine/engine_limits.h"
#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

#define GROUP_JOINS_WAIT_NS  UINT64_C(5000000000)
#define GROUP_JOINS_RETRY_NS UINT64_C(10000000) /* to send a message while the link is full */

/* More than the engine joins: a group that a client gave up, or left, has an entry for a while. */
#define GROUP_JOINS_MAX (2 * LIMIT_MCAST_GROUPS)

enum group_join_state {
	GROUP_JOIN_NONE,    /* the entry is free */
	GROUP_JOIN_ASKED,   /* JOIN was sent, or is to be sent */
	GROUP_JOIN_ARRIVED, /* the answer is there, and nobody has fetched it */
	GROUP_JOIN_IN_USE,
	GROUP_JOIN_LEAVING, /* LEAVE is to be sent */
};

struct group_join {
	struct rnic_gid group;
	enum group_join_state state;
	bool is_sent;	   /* JOIN */
	bool is_renewed;   /* of IN_USE: JOIN asks for another socket */
	int status;	   /* of ARRIVED: 0, or why there is no socket (negative errno) */
	int fd;		   /* of ARRIVED with status 0; else -1 */
	uint64_t until_ns; /* of ASKED and ARRIVED: somebody may still wait */
};

struct group_joins {
	struct group_join entries[GROUP_JOINS_MAX];
	uint32_t used_count; /* of entries that are not free */
	uint64_t ticked_ns;  /* time of the last tick */
	/* Sends JOIN or LEAVE. Negative errno: not now. */
	int (*send)(void *context, bool is_join, const struct rnic_gid *group);
	void *context;
};

void group_joins_init(struct group_joins *joins,
		      int (*send)(void *context, bool is_join, const struct rnic_gid *group),
		      void *context);

/* Closes the sockets that nobody fetched. Sends nothing. */
void group_joins_fini(struct group_joins *joins);

/*
 * Fetches the socket of a group. Returns 0 with the socket at `fd`, the caller's from then on;
 * -EINPROGRESS: the control plane was asked, and the caller asks again in a later turn; -ETIMEDOUT:
 * the control plane did not answer; -ENOSPC: too many groups; or the errno of the control plane.
 */
int group_joins_fetch(struct group_joins *joins, const struct rnic_gid *group, uint64_t now_ns,
		      int *fd);

/* Leaves a group whose socket was fetched, and is closed by now. */
void group_joins_leave(struct group_joins *joins, const struct rnic_gid *group);

/* Asks for new sockets of all groups in use: those in use are of an interface that is gone. */
void group_joins_renew(struct group_joins *joins);

/*
 * Takes the answer JOINED: a status and, with status 0, the socket, which `joins` owns now. True:
 * the socket stays the caller's, and takes the place of that of the group, which is in use.
 */
bool group_joins_answer(struct group_joins *joins, const struct rnic_gid *group, int status,
			int fd);

/* Sends what could not be sent, and leaves groups that nobody fetched in time. */
void group_joins_tick(struct group_joins *joins, uint64_t now_ns);

/* The time of the next tick that has something to do; UINT64_MAX: none. */
uint64_t group_joins_next_deadline_ns(const struct group_joins *joins);

#endif
