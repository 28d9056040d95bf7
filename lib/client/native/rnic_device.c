/* SPDX-License-Identifier: MIT */
#include "lib/client/native/drop_in_calls.h"
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"

#include <errno.h>
#include <stdlib.h>

int rnic_context_check(struct rnic_context *context)
{
	const int error = rnic_link_check(&context->control);

	return error != 0 ? error : rnic_context_lost(context);
}

int rnic_context_loss_fd(const struct rnic_context *context)
{
	return atomic_load(&context->control.fd);
}

int rnic_query_port(struct rnic_context *context, struct rnic_port_attributes *attributes)
{
	RNIC_REFUSE_NULL(context, attributes);
	struct rnic_ctl_port_reply reply;
	const struct rnic_call call = RNIC_CALL_TO_ASK(RNIC_CTL_QUERY_PORT, reply);
	int error = rnic_context_check(context);

	/* Callers ask the port whether the device is alive, which takes both connections. */
	if (error == 0)
		error = rnic_link_call(&context->device, &call);
	if (error != 0)
		return error;
	*attributes = (struct rnic_port_attributes){
		.state = reply.state,
		.max_mtu = reply.max_mtu,
		.active_mtu = reply.active_mtu,
		.max_message_bytes = reply.max_message_bytes,
		.gid_count = reply.gid_count,
		.speed_mbps = reply.speed_mbps,
		.own_gid_index = reply.own_gid_index,
	};
	return 0;
}

int rnic_query_gid(struct rnic_context *context, uint32_t index, struct rnic_gid *gid,
		   uint32_t *netdev_index)
{
	RNIC_REFUSE_NULL(context, gid);
	struct rnic_ctl_gids_reply reply;
	const struct rnic_call call = RNIC_CALL_TO_ASK(RNIC_CTL_QUERY_GIDS, reply);
	int error;

	if (index >= context->attributes.gid_count)
		return -EINVAL;
	error = rnic_link_call(&context->device, &call);
	if (error != 0)
		return error;
	if (reply.count > RNIC_GIDS_MAX)
		return -EIO;
	if (index >= RNIC_GIDS_MAX)
		return -EINVAL;
	if (index >= reply.count)
		reply.entries[index] = (struct rnic_gid_entry){.netdev_index = 0};
	*gid = reply.entries[index].gid;
	if (netdev_index != NULL)
		*netdev_index = reply.entries[index].netdev_index;
	return 0;
}

int rnic_query_pkey(struct rnic_context *context, uint32_t index, uint16_t *pkey)
{
	RNIC_REFUSE_NULL(context, pkey);
	struct rnic_ctl_pkeys_reply reply;
	const struct rnic_call call = RNIC_CALL_TO_ASK(RNIC_CTL_QUERY_PKEYS, reply);
	int error;

	if (index >= context->attributes.pkey_count || index >= RNIC_PKEYS_MAX)
		return -EINVAL;
	error = rnic_link_call(&context->device, &call);
	if (error == 0)
		*pkey = reply.pkeys[index];
	return error;
}

int rnic_obtain_pd(struct rnic_context *context, enum rnic_ctl_operation operation,
		   const void *request, size_t request_bytes, struct rnic_pd **obtained)
{
	struct rnic_ctl_pd_reply reply;
	const struct rnic_call call = {
		.operation = operation,
		.request = request,
		.request_bytes = request_bytes,
		.request_fd = -1,
		.reply = &reply,
		.reply_bytes = sizeof(reply),
	};
	int error;
	struct rnic_pd *pd = rnic_object_create(context, &call, sizeof(*pd), &error);

	if (pd == NULL)
		return error;
	*pd = (struct rnic_pd){.context = context, .handle = reply.pd};
	*obtained = pd;
	return 0;
}

int rnic_alloc_pd(struct rnic_context *context, struct rnic_pd **allocated)
{
	RNIC_REFUSE_NULL(context, allocated);
	return rnic_obtain_pd(context, RNIC_CTL_ALLOC_PD, NULL, 0, allocated);
}

int rnic_dealloc_pd(struct rnic_pd *pd)
{
	RNIC_REFUSE_NULL(pd);
	return rnic_object_destroy(pd->context, RNIC_CTL_DEALLOC_PD, pd->handle, pd);
}

int rnic_create_ah(struct rnic_pd *pd, const struct rnic_path *path, struct rnic_ah **created)
{
	RNIC_REFUSE_NULL(pd, path, created);
	const struct rnic_ctl_create_ah request = {.pd = pd->handle, .path = *path};
	struct rnic_ctl_ah_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_CREATE_AH, request, reply);
	int error;
	struct rnic_ah *ah = rnic_object_create(pd->context, &call, sizeof(*ah), &error);

	if (ah == NULL)
		return error;
	*ah = (struct rnic_ah){.context = pd->context, .handle = reply.ah};
	*created = ah;
	return 0;
}

int rnic_destroy_ah(struct rnic_ah *ah)
{
	RNIC_REFUSE_NULL(ah);
	return rnic_object_destroy(ah->context, RNIC_CTL_DESTROY_AH, ah->handle, ah);
}

static int change_group(struct rnic_qp *qp, const struct rnic_gid *group, uint32_t operation)
{
	const struct rnic_ctl_mcast request = {.qp = qp->handle, .group = *group};

	return rnic_link_tell(&qp->context->device, operation, &request, sizeof(request));
}

int rnic_attach_mcast(struct rnic_qp *qp, const struct rnic_gid *group)
{
	RNIC_REFUSE_NULL(qp, group);
	return change_group(qp, group, RNIC_CTL_ATTACH_MCAST);
}

int rnic_detach_mcast(struct rnic_qp *qp, const struct rnic_gid *group)
{
	RNIC_REFUSE_NULL(qp, group);
	return change_group(qp, group, RNIC_CTL_DETACH_MCAST);
}
