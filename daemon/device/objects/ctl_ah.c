/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/object_requests.h"

#include "daemon/device/objects/session_objects.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <stdlib.h>

int ctl_create_ah(struct ctl_call *call)
{
	const struct rnic_ctl_create_ah *request = (const void *)call->request.payload;
	struct rnic_ctl_ah_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct session_pd *pd = handle_table_get(&session->pds, request->pd);
	struct rnic_path path = request->path;
	struct session_ah *ah;
	int result;

	if (pd == NULL)
		return ctl_refuse(call, -EINVAL, "no such protection domain");
	if (!device_facts_has_gid(session->set->facts, request->path.source_gid_index))
		return ctl_refuse(call, -EINVAL, "there is no GID with index %u",
				  request->path.source_gid_index);
	result = quota_charge(session->account, RESOURCE_AH, 1);
	if (result != 0)
		return ctl_refuse(call, result, "no more address handles are to be had");
	ah = calloc(1, sizeof(*ah));
	if (ah == NULL) {
		result = -ENOMEM;
		goto discharge;
	}
	path.dest_gid = rnic_gid_on_wire(&path.dest_gid);
	result = ah_init(session->set->engine, &ah->ah, &pd->pd, &path);
	if (result != 0) {
		ah_path_refusal(session->set->engine, &request->path, call->reason,
				sizeof(call->reason));
		goto free_ah;
	}
	result = handle_table_add(&session->ahs, ah, &ah->handle);
	if (result != 0)
		goto fini_ah;
	reply->ah = ah->handle;
	return 0;

fini_ah:
	ah_fini(&ah->ah);
free_ah:
	free(ah);
discharge:
	quota_discharge(session->account, RESOURCE_AH, 1);
	return result;
}

/*
 * Takes the datagrams that wait in the client's rings. The client posted those that name the handle
 * while the handle existed, and the daemon copies the handle's path into their WQEs here. When more
 * datagrams wait than any program needs, the rest fails. Returns false when the next turn goes on.
 */
static bool ah_take_waiting(struct ctl_call *call)
{
	uint32_t *slot = &call->progress[0], *taken = &call->progress[1];
	uint32_t budget = LIMIT_TURN_DESTROY_AH_ENTRIES;
	struct session_qp *qp;

	while (*taken < LIMIT_DESTROY_AH_ENTRIES && budget > 0) {
		uint32_t next = *slot, count = 0;

		qp = handle_table_next(&call->session->qps, &next);
		if (qp == NULL)
			return true;
		if (qp->qp->type == RNIC_QP_TYPE_UD)
			count = wqe_fetch_take_sends(qp, budget);
		*taken += count;
		budget -= count;
		if (budget == 0)
			return false; /* the ring may hold more */
		*slot = next;
		budget--;
	}
	return *taken >= LIMIT_DESTROY_AH_ENTRIES;
}

int ctl_destroy_ah(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct session_ah *ah = handle_table_get(&call->session->ahs, request->handle);

	if (ah == NULL)
		return ctl_refuse(call, -EINVAL, "no such address handle");
	if (!ah_take_waiting(call))
		return -EINPROGRESS;
	session_free_ah(call->session, ah);
	return 0;
}
