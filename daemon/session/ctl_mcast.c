/* SPDX-License-Identifier: MIT */
#include "session/ctl_handlers.h"

#include "engine/mcast.h"
#include "session/session.h"
#include "session/session_set.h"

#include <errno.h>
#include <string.h>

int ctl_attach_mcast(struct ctl_call *call)
{
	const struct rnic_ctl_mcast *request = (const void *)call->request.payload;
	struct session_qp *qp = handle_table_get(&call->session->qps, request->qp);
	int result;

	if (qp == NULL)
		return ctl_refuse(call, -EINVAL, "no such queue pair");
	result = mcast_attach(call->session->set->engine, qp->qp, &request->group);
	switch (result) {
	case -EINVAL:
		return ctl_refuse(call, result, "not a UD queue pair, or not a multicast address");
	case -ENOSPC:
		return ctl_refuse(call, result, "no more multicast groups are to be had, or this "
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
