/* SPDX-License-Identifier: MIT */
#include "lib/dropin/rdmacm/rdma_translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- the list of groups, which the threads of an identifier share ---------------------------- */

static void enlist(struct rnic_cma_id *id, struct rnic_cma_multicast *group)
{
	pthread_mutex_lock(&id->groups_lock);
	group->next = id->groups;
	id->groups = group;
	pthread_mutex_unlock(&id->groups_lock);
}

/* False: another thread has left the group, and freed it. */
static bool delist(struct rnic_cma_id *id, const struct rnic_cma_multicast *group)
{
	struct rnic_cma_multicast **link = &id->groups;
	bool is_there;

	pthread_mutex_lock(&id->groups_lock);
	while (*link != NULL && *link != group)
		link = &(*link)->next;
	is_there = *link != NULL;
	if (is_there)
		*link = group->next;
	pthread_mutex_unlock(&id->groups_lock);
	return is_there;
}

/* Under the lock: where the list refers to the group, or ends. */
static struct rnic_cma_multicast **rdmacm_multicast_find(struct rnic_cma_id *id,
							 const struct rnic_gid *group)
{
	struct rnic_cma_multicast **link = &id->groups;

	while (*link != NULL && memcmp(&(*link)->group, group, sizeof(*group)) != 0)
		link = &(*link)->next;
	return link;
}

int rnic_cma_multicast_attach(struct rnic_cma_id *id, const struct rnic_gid *wanted)
{
	struct rnic_cma_multicast *group;
	int error = 0;

	pthread_mutex_lock(&id->groups_lock);
	group = *rdmacm_multicast_find(id, wanted);
	if (group == NULL) {
		error = -EINVAL;
	} else if (id->public.qp != NULL && !group->is_send_only && !group->is_attached) {
		error = -ibv_attach_mcast(id->public.qp, &group->group, 0);
		group->is_attached = error == 0;
	}
	pthread_mutex_unlock(&id->groups_lock);
	return error;
}

/* Under the lock. */
static void rdmacm_multicast_detach(struct rnic_cma_id *id, struct rnic_cma_multicast *group)
{
	if (group->is_attached && id->public.qp != NULL)
		ibv_detach_mcast(id->public.qp, &group->group, 0);
	group->is_attached = false;
}

void *rnic_cma_multicast_context(struct rnic_cma_id *id, const struct rnic_gid *wanted)
{
	const struct rnic_cma_multicast *group;
	void *context;

	pthread_mutex_lock(&id->groups_lock);
	group = *rdmacm_multicast_find(id, wanted);
	context = group != NULL ? group->context : NULL;
	pthread_mutex_unlock(&id->groups_lock);
	return context;
}

struct ibv_qp *rnic_cma_multicast_take_qp(struct rnic_cma_id *id)
{
	struct ibv_qp *qp;

	pthread_mutex_lock(&id->groups_lock);
	for (struct rnic_cma_multicast *group = id->groups; group != NULL; group = group->next)
		rdmacm_multicast_detach(id, group);
	qp = id->public.qp;
	id->public.qp = NULL;
	pthread_mutex_unlock(&id->groups_lock);
	return qp;
}

void rnic_cma_multicast_forget(struct rnic_cma_id *id)
{
	while (id->groups != NULL) {
		struct rnic_cma_multicast *group = id->groups;

		id->groups = group->next;
		free(group);
	}
}

/* --- joining and leaving --------------------------------------------------------------------- */

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
	enlist(id, group);
	error = rnic_native.cm_join_mcast(id->native, &endpoint, is_send_only);
	if (error != 0) {
		if (delist(id, group))
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
	struct rnic_cma_multicast **link, *group;
	struct rnic_endpoint endpoint;
	int error = addr == NULL ? -EINVAL : rnic_cma_endpoint(addr, &endpoint);

	if (error != 0)
		return rnic_cma_result(error);
	pthread_mutex_lock(&id->groups_lock);
	link = rdmacm_multicast_find(id, &endpoint.address);
	group = *link;
	if (group != NULL) {
		*link = group->next;
		rdmacm_multicast_detach(id, group);
	}
	pthread_mutex_unlock(&id->groups_lock);
	if (group == NULL)
		return rnic_cma_result(-EADDRNOTAVAIL);
	free(group);
	return rnic_cma_result(rnic_native.cm_leave_mcast(id->native, &endpoint));
}
