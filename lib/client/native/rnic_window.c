/* SPDX-License-Identifier: MIT */
/* Memory windows: their life. They are bound by a work request, see rnic_post.c. */
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"

#include <errno.h>
#include <stdlib.h>

int rnic_alloc_mw(struct rnic_pd *pd, enum rnic_mw_type type, struct rnic_mw **allocated)
{
	RNIC_REFUSE_NULL(pd, allocated);
	const struct rnic_ctl_alloc_mw request = {.pd = pd->handle, .type = type};
	struct rnic_ctl_alloc_mw_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_ALLOC_MW, request, reply);
	int error;
	struct rnic_mw *mw = rnic_object_create(pd->context, &call, sizeof(*mw), &error);

	if (mw == NULL)
		return error;
	*mw = (struct rnic_mw){.context = pd->context, .handle = reply.mw, .rkey = reply.rkey};
	*allocated = mw;
	return 0;
}

int rnic_dealloc_mw(struct rnic_mw *mw)
{
	RNIC_REFUSE_NULL(mw);
	return rnic_object_destroy(mw->context, RNIC_CTL_DEALLOC_MW, mw->handle, mw);
}

uint32_t rnic_mw_rkey(const struct rnic_mw *mw)
{
	return mw != NULL ? mw->rkey : 0;
}
