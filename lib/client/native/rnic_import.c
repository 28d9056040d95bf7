/* SPDX-License-Identifier: MIT */
/* Sharing a context, and importing what a context of another process has. */
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"

#include <errno.h>
#include <stdlib.h>

static int show_file(struct rnic_context *context, enum rnic_ctl_operation operation, int fd)
{
	const struct rnic_call call = {.operation = operation, .request_fd = fd};

	return rnic_own_device_result(context, rnic_link_call(&context->device, &call));
}

int rnic_share(struct rnic_context *context, int fd)
{
	RNIC_REFUSE_NULL(context);
	return show_file(context, RNIC_CTL_SHARE, fd);
}

int rnic_import(struct rnic_context *context, int fd)
{
	RNIC_REFUSE_NULL(context);
	return show_file(context, RNIC_CTL_IMPORT, fd);
}

uint32_t rnic_pd_name(const struct rnic_pd *pd)
{
	return pd != NULL ? rnic_handle_name(pd->handle) : 0;
}

uint32_t rnic_mr_name(const struct rnic_mr *mr)
{
	return mr != NULL ? rnic_handle_name(mr->handle) : 0;
}

int rnic_import_pd(struct rnic_context *context, uint32_t name, struct rnic_pd **imported)
{
	RNIC_REFUSE_NULL(context, imported);
	const struct rnic_ctl_import_pd request = {.name = name};

	return rnic_obtain_pd(context, RNIC_CTL_IMPORT_PD, &request, sizeof(request), imported);
}

/* A domain that is in use stays with the daemon until the context is closed. */
void rnic_unimport_pd(struct rnic_pd *pd)
{
	if (pd == NULL)
		return;
	rnic_link_call_object(&pd->context->device, RNIC_CTL_DEALLOC_PD, pd->handle);
	rnic_context_release(pd->context);
	free(pd);
}

int rnic_import_mr(struct rnic_pd *pd, uint32_t name, struct rnic_mr **imported, uint64_t *length)
{
	RNIC_REFUSE_NULL(pd, imported, length);
	const struct rnic_ctl_import_mr request = {.pd = pd->handle, .name = name};
	struct rnic_ctl_import_mr_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_IMPORT_MR, request, reply);
	int error;
	struct rnic_mr *mr = rnic_object_create(pd->context, &call, sizeof(*mr), &error);

	if (mr == NULL)
		return error;
	/* Without a handle: the daemon refuses every change of the region. */
	*mr = (struct rnic_mr){.context = pd->context, .lkey = reply.lkey, .rkey = reply.rkey};
	*length = reply.length;
	*imported = mr;
	return 0;
}

void rnic_unimport_mr(struct rnic_mr *mr)
{
	if (mr == NULL)
		return;
	rnic_context_release(mr->context);
	free(mr);
}
