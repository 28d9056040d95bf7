/* SPDX-License-Identifier: MIT */
/* The list of an identifier's multicast groups, which the threads of the identifier share. */
#include "lib/dropin/rdmacm/rdma_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void rnic_cma_group_enlist(struct rnic_cma_id *id, struct rnic_cma_multicast *group)
{
	pthread_mutex_lock(&id->groups_lock);
	group->next = id->groups;
	id->groups = group;
	pthread_mutex_unlock(&id->groups_lock);
}

bool rnic_cma_group_delist(struct rnic_cma_id *id, const struct rnic_cma_multicast *group)
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
static struct rnic_cma_multicast **group_find(struct rnic_cma_id *id, const struct rnic_gid *group)
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
	group = *group_find(id, wanted);
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
static void group_detach(struct rnic_cma_id *id, struct rnic_cma_multicast *group)
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
	group = *group_find(id, wanted);
	context = group != NULL ? group->context : NULL;
	pthread_mutex_unlock(&id->groups_lock);
	return context;
}

struct ibv_qp *rnic_cma_multicast_take_qp(struct rnic_cma_id *id)
{
	struct ibv_qp *qp;

	pthread_mutex_lock(&id->groups_lock);
	for (struct rnic_cma_multicast *group = id->groups; group != NULL; group = group->next)
		group_detach(id, group);
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

struct rnic_cma_multicast *rnic_cma_group_take(struct rnic_cma_id *id,
					       const struct rnic_gid *wanted)
{
	struct rnic_cma_multicast **link, *group;

	pthread_mutex_lock(&id->groups_lock);
	link = group_find(id, wanted);
	group = *link;
	if (group != NULL) {
		*link = group->next;
		group_detach(id, group);
	}
	pthread_mutex_unlock(&id->groups_lock);
	return group;
}
