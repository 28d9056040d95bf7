/* SPDX-License-Identifier: MIT */
/* Memory windows: their life. They are bound by a work request, see rnic_post.c. */
#include "native/rnic_objects.h"

#include <errno.h>
#include <stdlib.h>

int rnic_alloc_mw(struct rnic_pd *pd, enum rnic_mw_type type, struct rnic_mw **allocated)
{
	const struct rnic_ctl_alloc_mw request = {.pd = pd->handle, .type = type};
	struct rnic_ctl_alloc_mw_reply reply;
	struct rnic_call call = {
		.operation = RNIC_CTL_ALLOC_MW,
		.request = &request,
		.request_bytes = sizeof(request),
		.request_fd = -1,
		.reply = &reply,
		.reply_bytes = sizeof(reply),
	};
	struct rnic_mw *mw = malloc(sizeof(*mw));
	int error;

	if (mw == NULL)
		return -ENOMEM;
	error = rnic_link_call(&pd->context->link, &call);
	if (error != 0) {
		free(mw);
		return error;
	}
	*mw = (struct rnic_mw){.context = pd->context, .handle = reply.mw, .rkey = reply.rkey};
	rnic_context_hold(pd->context);
	*allocated = mw;
	return 0;
}

int rnic_dealloc_mw(struct rnic_mw *mw)
{
	int error = rnic_link_call_object(&mw->context->link, RNIC_CTL_DEALLOC_MW, mw->handle);

	if (error != 0 && rnic_context_lost(mw->context) == 0)
		return error;
	rnic_context_release(mw->context);
	free(mw);
	return 0;
}

uint32_t rnic_mw_rkey(const struct rnic_mw *mw)
{
	return mw->rkey;
}
