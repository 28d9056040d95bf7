/* SPDX-License-Identifier: MIT */
/* Joining and leaving multicast groups. */
#include "lib/dropin/rdmacm/rdma_translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int rdmacm_multicast_join(struct rnic_cma_id *id, const struct sockaddr *address,
				 bool is_send_only, void *context)
{
	struct rnic_cma_multicast *group;
	struct rnic_cm_endpoints where;
	struct rnic_endpoint endpoint;
	int error = rnic_cma_endpoint(address, &endpoint);

	if (error != 0)
		return error;
	group = calloc(1, sizeof(*group));
	if (group == NULL)
		return -ENOMEM;
	memcpy(&group->group, endpoint.address.bytes, sizeof(group->group));
	group->context = context;
	group->is_send_only = is_send_only;
	/* The list holds the group before the event can come, in another thread. */
	rnic_cma_group_enlist(id, group);
	error = rnic_native.cm_join_mcast(id->native, &endpoint, is_send_only);
	if (error != 0) {
		if (rnic_cma_group_delist(id, group))
			free(group);
		return error;
	}
	if (id->public.verbs == NULL) {
		error = rnic_native.cm_query(id->native, &where);
		if (error == 0)
			error = rnic_cma_take_place(id, &where);
		if (error != 0)
			return error;
	}
	return rnic_cma_complete(id);
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	if (addr == NULL)
		return rnic_cma_result(-EINVAL);
	return rnic_cma_result(rdmacm_multicast_join(rnic_cma_id(id), addr, false, context));
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *mc_join_attr,
			   void *context)
{
	const uint32_t known = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (mc_join_attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return rnic_cma_result(-ENOTSUP);
	if ((mc_join_attr->comp_mask & known) != known || mc_join_attr->addr == NULL)
		return rnic_cma_result(-EINVAL);
	if (mc_join_attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return rnic_cma_result(-EINVAL);
	return rnic_cma_result(rdmacm_multicast_join(
		rnic_cma_id(id), mc_join_attr->addr,
		mc_join_attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context));
}

int rdma_leave_multicast(struct rdma_cm_id *public, struct sockaddr *addr)
{
	struct rnic_cma_id *id = rnic_cma_id(public);
	struct rnic_cma_multicast *group;
	struct rnic_endpoint endpoint;
	int error = addr == NULL ? -EINVAL : rnic_cma_endpoint(addr, &endpoint);

	if (error != 0)
		return rnic_cma_result(error);
	group = rnic_cma_group_take(id, &endpoint.address);
	if (group == NULL)
		return rnic_cma_result(-EADDRNOTAVAIL);
	free(group);
	return rnic_cma_result(rnic_native.cm_leave_mcast(id->native, &endpoint));
}
