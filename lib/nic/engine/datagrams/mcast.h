/* SPDX-License-Identifier: MIT */
/*
 * Multicast groups: which UD QPs a datagram to a group is delivered to (IBTA 1.4, 10.5). The engine
 * owns groups and memberships; a group exists while it has a member, and the engine tells its owner
 * when the group begins and ends (engine_sink.multicast).
 *
 * Invariant: a QP is in a group at most once.
 */
#ifndef LIB_NIC_ENGINE_DATAGRAMS_MCAST_H
#define LIB_NIC_ENGINE_DATAGRAMS_MCAST_H

#include "lib/nic/base/list.h"
#include "proto/base/verbs_types.h"

#include <stdint.h>

struct engine;
struct qp;
struct rnic_packet;

struct mcast_group {
	struct list node; /* of engine->mcast_groups */
	struct rnic_gid gid;
	struct list members;
	uint32_t member_count;
};

/*
 * Adds `qp` to the group `gid`; once more does nothing. -EINVAL: not a UD QP or not a multicast
 * address. -ENOSPC: LIMIT_MCAST_GROUPS or LIMIT_MCAST_MEMBERS are reached. -ENOMEM. Or what the
 * sink says when the interface cannot join.
 */
int mcast_attach(struct engine *engine, struct qp *qp, const struct rnic_gid *gid);

/* Takes the QP out of the group. -EINVAL: the QP is not in that group. */
int mcast_detach(struct engine *engine, struct qp *qp, const struct rnic_gid *gid);

/* Takes the QP out of all groups. */
void mcast_detach_all(struct engine *engine, struct qp *qp);

/* The group `gid`, or NULL when the group has no member. */
struct mcast_group *mcast_find(const struct engine *engine, const struct rnic_gid *gid);

/* The QP behind a node of mcast_group.members. */
const struct qp *mcast_member_qp(const struct list *node);

/* Calls `deliver` for each member of `group`, which must not change meanwhile. */
void mcast_for_each(struct mcast_group *group,
		    void (*deliver)(struct qp *qp, const struct rnic_packet *packet),
		    const struct rnic_packet *packet);

#endif
