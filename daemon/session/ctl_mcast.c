/* SPDX-License-Identifier: MIT */
#include "session/ctl_handlers.h"

#include "engine/mcast.h"
#include "engine/qp.h"
#include "session/session.h"
#include "session/session_set.h"
#include "wire/gid.h"

#include <errno.h>
#include <string.h>

static bool mcast_has_member_of(const struct mcast_group *group, const struct session *session)
{
	const struct list *node;

	list_for_each (node, &group->members) {
		const struct session_qp *qp = mcast_member_qp(node)->user;

		if (qp->session == session)
			return true;
	}
	return false;
}

/* One client must not take all the groups that the device can join. */
static bool mcast_may_attach(const struct session *session, const struct rnic_gid *gid)
{
	const struct engine *engine = session->set->engine;
	const struct list *node;
	uint32_t groups = 0;

	list_for_each (node, &engine->mcast_groups) {
		const struct mcast_group *group = list_entry(node, struct mcast_group, node);

		if (!mcast_has_member_of(group, session))
			continue;
		if (rnic_gid_equal(&group->gid, gid))
			return true;
		groups++;
	}
	return groups < LIMIT_SESSION_MCAST_GROUPS;
}

int ctl_attach_mcast(struct ctl_call *call)
{
	const struct rnic_ctl_mcast *request = (const void *)call->request.payload;
	struct session_qp *qp = handle_table_get(&call->session->qps, request->qp);
	int result;

	if (qp == NULL)
		return ctl_refuse(call, -EINVAL, "no such queue pair");
	if (!mcast_may_attach(call->session, &request->group))
		return ctl_refuse(call, -ENOSPC, "a client can be in %d multicast groups",
				  LIMIT_SESSION_MCAST_GROUPS);
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
