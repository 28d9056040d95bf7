/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/object_requests.h"

#include "daemon/device/objects/session_objects.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"

#include <errno.h>
#include <stdlib.h>

int ctl_alloc_mw(struct ctl_call *call)
{
	const struct rnic_ctl_alloc_mw *request = (const void *)call->request.payload;
	struct rnic_ctl_alloc_mw_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct session_pd *pd = handle_table_get(&session->pds, request->pd);
	struct session_mw *mw;
	int result;

	if (pd == NULL)
		return ctl_refuse(call, -EINVAL, "no such protection domain");
	if (request->type != RNIC_MW_TYPE_1 && request->type != RNIC_MW_TYPE_2)
		return ctl_refuse(call, -EINVAL, "there are no memory windows of type %u",
				  request->type);
	result = quota_charge(session->account, RESOURCE_MW, 1);
	if (result != 0)
		return ctl_refuse(call, result, "no more memory windows are to be had");
	mw = calloc(1, sizeof(*mw));
	if (mw == NULL) {
		result = -ENOMEM;
		goto discharge;
	}
	result = mw_alloc(session->set->engine, &mw->mw, &pd->pd, (enum rnic_mw_type)request->type);
	if (result != 0)
		goto free_mw;
	result = handle_table_add(&session->mws, mw, &mw->handle);
	if (result != 0)
		goto dealloc;
	*reply = (struct rnic_ctl_alloc_mw_reply){.mw = mw->handle, .rkey = mw->mw.range.key};
	return 0;

dealloc:
	mw_dealloc(session->set->engine, &mw->mw);
free_mw:
	free(mw);
discharge:
	quota_discharge(session->account, RESOURCE_MW, 1);
	return result;
}

int ctl_dealloc_mw(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct session_mw *mw = handle_table_get(&call->session->mws, request->handle);

	if (mw == NULL)
		return ctl_refuse(call, -EINVAL, "no such memory window");
	session_free_mw(call->session, mw);
	return 0;
}
