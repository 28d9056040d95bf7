/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/datagrams/mcast.h"

#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/qp_state.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <stdlib.h>

struct mcast_member {
	struct list group_node; /* of group->members */
	struct list qp_node;	/* of qp->mcast_members */
	struct mcast_group *group;
	struct qp *qp;
};

struct mcast_group *mcast_find(const struct engine *engine, const struct rnic_gid *gid)
{
	const struct list *node;

	list_for_each (node, &engine->mcast_groups) {
		struct mcast_group *group = list_entry(node, struct mcast_group, node);

		if (rnic_gid_equal(&group->gid, gid))
			return group;
	}
	return NULL;
}

static struct mcast_member *find_member(const struct qp *qp, const struct rnic_gid *gid)
{
	const struct list *node;

	list_for_each (node, &qp->mcast_members) {
		struct mcast_member *member = list_entry(node, struct mcast_member, qp_node);

		if (rnic_gid_equal(&member->group->gid, gid))
			return member;
	}
	return NULL;
}

static int create_group(struct engine *engine, const struct rnic_gid *gid,
			struct mcast_group **group)
{
	struct mcast_group *made;
	int error;

	if (engine->mcast_group_count >= LIMIT_MCAST_GROUPS)
		return -ENOSPC;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	error = engine->config.sink->multicast(engine->config.sink_context, gid, true);
	if (error != 0) {
		free(made);
		return error;
	}
	made->gid = *gid;
	list_init(&made->members);
	list_add_tail(&engine->mcast_groups, &made->node);
	engine->mcast_group_count++;
	*group = made;
	return 0;
}

static void destroy_group_if_empty(struct engine *engine, struct mcast_group *group)
{
	if (group->member_count > 0)
		return;
	engine->config.sink->multicast(engine->config.sink_context, &group->gid, false);
	list_remove(&group->node);
	engine->mcast_group_count--;
	free(group);
}

int mcast_attach(struct engine *engine, struct qp *qp, const struct rnic_gid *gid)
{
	struct mcast_group *group = mcast_find(engine, gid);
	struct mcast_member *member;
	int error;

	if (qp->type != RNIC_QP_TYPE_UD || !rnic_gid_is_multicast(gid))
		return -EINVAL;
	if (find_member(qp, gid) != NULL)
		return 0;
	if (group != NULL && group->member_count >= LIMIT_MCAST_MEMBERS)
		return -ENOSPC;
	member = calloc(1, sizeof(*member));
	if (member == NULL)
		return -ENOMEM;
	if (group == NULL) {
		error = create_group(engine, gid, &group);
		if (error != 0) {
			free(member);
			return error;
		}
	}
	member->group = group;
	member->qp = qp;
	list_add_tail(&group->members, &member->group_node);
	list_add_tail(&qp->mcast_members, &member->qp_node);
	group->member_count++;
	return 0;
}

static void remove_member(struct engine *engine, struct mcast_member *member)
{
	struct mcast_group *group = member->group;

	list_remove(&member->group_node);
	list_remove(&member->qp_node);
	free(member);
	group->member_count--;
	destroy_group_if_empty(engine, group);
}

int mcast_detach(struct engine *engine, struct qp *qp, const struct rnic_gid *gid)
{
	struct mcast_member *member = find_member(qp, gid);

	if (member == NULL)
		return -EINVAL;
	remove_member(engine, member);
	return 0;
}

void mcast_detach_all(struct engine *engine, struct qp *qp)
{
	while (!list_is_empty(&qp->mcast_members))
		remove_member(engine,
			      list_first_entry(&qp->mcast_members, struct mcast_member, qp_node));
}

const struct qp *mcast_member_qp(const struct list *node)
{
	return list_entry(node, struct mcast_member, group_node)->qp;
}

void mcast_for_each(struct mcast_group *group,
		    void (*deliver)(struct qp *qp, const struct rnic_packet *packet),
		    const struct rnic_packet *packet)
{
	struct list *node;

	list_for_each (node, &group->members)
		deliver(list_entry(node, struct mcast_member, group_node)->qp, packet);
}
