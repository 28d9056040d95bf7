/* SPDX-License-Identifier: MIT */
#include "device/objects/object_requests.h"
#include "common/client_limits.h"
#include "engine/engine_limits.h"

#include "engine/datagrams/mcast.h"
#include "engine/verbs/qp.h"
#include "device/objects/session_objects.h"
#include "device/session/session.h"
#include "device/session/session_set.h"
#include "wire/gid.h"

#include <errno.h>
#include <string.h>

/* What a client has, and what all clients of its user have: queue pairs in one group, or groups. */
struct mcast_share {
	uint32_t of_session;
	uint32_t of_user;
};

static struct mcast_share mcast_members_of(const struct mcast_group *group,
					   const struct session *session)
{
	struct mcast_share members = {0};
	const struct list *node;

	list_for_each (node, &group->members) {
		const struct session_qp *qp = mcast_member_qp(node)->user;

		members.of_session += qp->session == session;
		members.of_user += qp->session->account->user == session->account->user;
	}
	return members;
}

/*
 * One client must not take all the groups that the device can join. One user must not take all
 * groups, or all places in one group.
 */
static int mcast_check_quota(struct ctl_call *call, const struct rnic_gid *gid)
{
	const struct session *session = call->session;
	const struct engine *engine = session->set->engine;
	struct mcast_share groups = {0}, members, here = {0};
	const struct list *node;

	list_for_each (node, &engine->mcast_groups) {
		const struct mcast_group *group = list_entry(node, struct mcast_group, node);

		members = mcast_members_of(group, session);
		groups.of_session += members.of_session > 0;
		groups.of_user += members.of_user > 0;
		if (rnic_gid_equal(&group->gid, gid))
			here = members;
	}
	if (here.of_session == 0 && groups.of_session >= LIMIT_SESSION_MCAST_GROUPS)
		return ctl_refuse(call, -ENOSPC, "a client can be in %d multicast groups",
				  LIMIT_SESSION_MCAST_GROUPS);
	if (here.of_user == 0 &&
	    groups.of_user >= quota_user_part(session->account, LIMIT_MCAST_GROUPS))
		return ctl_refuse(call, -ENOSPC, "the clients of this user are in %u groups",
				  groups.of_user);
	if (here.of_user >= quota_user_part(session->account, LIMIT_MCAST_MEMBERS))
		return ctl_refuse(call, -ENOSPC,
				  "the clients of this user have %u queue pairs in the group",
				  here.of_user);
	return 0;
}

int ctl_attach_mcast(struct ctl_call *call)
{
	const struct rnic_ctl_mcast *request = (const void *)call->request.payload;
	struct session_qp *qp = handle_table_get(&call->session->qps, request->qp);
	int result;

	if (qp == NULL)
		return ctl_refuse(call, -EINVAL, "no such queue pair");
	result = mcast_check_quota(call, &request->group);
	if (result != 0)
		return result;
	result = mcast_attach(call->session->set->engine, qp->qp, &request->group);
	switch (result) {
	case -EINVAL:
		return ctl_refuse(call, result, "not a UD queue pair, or not a multicast address");
	case -ENOSPC:
		return ctl_refuse(call, result,
				  "no more multicast groups are to be had, or this "
				  "one has as many members as it may");
	case 0:
		return 0;
	default:
		return ctl_refuse(call, result, "the interface cannot join the group: %s",
				  strerror(-result));
	}
}

int ctl_detach_mcast(struct ctl_call *call)
{
	const struct rnic_ctl_mcast *request = (const void *)call->request.payload;
	struct session_qp *qp = handle_table_get(&call->session->qps, request->qp);

	if (qp == NULL)
		return ctl_refuse(call, -EINVAL, "no such queue pair");
	if (mcast_detach(call->session->set->engine, qp->qp, &request->group) != 0)
		return ctl_refuse(call, -EINVAL, "the queue pair is not in that group");
	return 0;
}
