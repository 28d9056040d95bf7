/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/object_requests.h"
#include "daemon/shared/quota/client_limits.h"
#include "lib/nic/engine/engine_limits.h"

#include "daemon/device/objects/session_objects.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/engine/datagrams/mcast.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <string.h>

/* How many queue pairs of the client are in the group. */
static uint32_t mcast_members_of(const struct mcast_group *group, const struct session *session)
{
	const struct list *node;
	uint32_t members = 0;

	list_for_each (node, &group->members) {
		const struct session_qp *qp = mcast_member_qp(node)->user;

		members += qp->session == session;
	}
	return members;
}

/* One client must not take all the groups that the device can join, or all places in a group. */
static int mcast_check_quota(struct ctl_call *call, const struct rnic_gid *gid)
{
	const struct session *session = call->session;
	const struct engine *engine = session->set->engine;
	uint32_t groups = 0, members, here = 0;
	const struct list *node;

	list_for_each (node, &engine->mcast_groups) {
		const struct mcast_group *group = list_entry(node, struct mcast_group, node);

		members = mcast_members_of(group, session);
		groups += members > 0;
		if (rnic_gid_equal(&group->gid, gid))
			here = members;
	}
	if (here == 0 && groups >= LIMIT_SESSION_MCAST_GROUPS)
		return ctl_refuse(call, -ENOSPC, "a client can be in %d multicast groups",
				  LIMIT_SESSION_MCAST_GROUPS);
	if (here >= LIMIT_SESSION_MCAST_MEMBERS)
		return ctl_refuse(call, -ENOSPC,
				  "a client can have %d queue pairs in a multicast group",
				  LIMIT_SESSION_MCAST_MEMBERS);
	return 0;
}

int ctl_attach_mcast(struct ctl_call *call)
{
	const struct rnic_ctl_mcast *request = (const void *)call->request.payload;
	struct session_qp *qp = handle_table_get(&call->session->qps, request->qp);
	const struct rnic_gid group = rnic_gid_on_wire(&request->group);
	int result;

	if (qp == NULL)
		return ctl_refuse(call, -EINVAL, "no such queue pair");
	result = mcast_check_quota(call, &group);
	if (result != 0)
		return result;
	result = mcast_attach(call->session->set->engine, qp->qp, &group);
	switch (result) {
	case -EINVAL:
		return ctl_refuse(call, result, "not a UD queue pair, or not a multicast address");
	case -ENOSPC:
		return ctl_refuse(call, result,
				  "no more multicast groups are to be had, or this "
				  "one has as many members as it may");
	case 0:
	case -EINPROGRESS:
		return result;
	default:
		return ctl_refuse(call, result, "the interface cannot join the group: %s",
				  strerror(-result));
	}
}

int ctl_detach_mcast(struct ctl_call *call)
{
	const struct rnic_ctl_mcast *request = (const void *)call->request.payload;
	struct session_qp *qp = handle_table_get(&call->session->qps, request->qp);
	const struct rnic_gid group = rnic_gid_on_wire(&request->group);

	if (qp == NULL)
		return ctl_refuse(call, -EINVAL, "no such queue pair");
	if (mcast_detach(call->session->set->engine, qp->qp, &group) != 0)
		return ctl_refuse(call, -EINVAL, "the queue pair is not in that group");
	return 0;
}
