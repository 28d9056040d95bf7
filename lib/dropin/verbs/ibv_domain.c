/* SPDX-License-Identifier: MIT */
/*
 * Protection domains, thread domains, and parent domains, which extend a protection domain.
 *
 * A thread domain promises that one thread uses its objects, so that a library may leave locks out.
 * Our locks cost next to nothing without a second thread, so they stay. The daemon makes the memory
 * of queues, so the library has nothing to allocate from a parent domain's allocator and never
 * calls it.
 */
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_opened.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>
#include <stdlib.h>

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct rnic_verbs_pd *pd = calloc(1, sizeof(*pd));
	int error;

	if (pd == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_alloc_pd(rnic_verbs_native(context), &pd->native);
	if (error != 0) {
		free(pd);
		return rnic_verbs_null(-error);
	}
	rnic_verbs_export_add(context, &pd->export, RNIC_VERBS_EXPORT_PD, rnic_pd_name(pd->native),
			      0);
	pd->pd.context = context;
	pd->pd.handle = pd->export.handle;
	pd->made = rnic_verbs_made(context, pd->pd.handle);
	return &pd->pd;
}

static int dealloc_parent_domain(struct rnic_verbs_pd *pd)
{
	atomic_fetch_sub(&pd->parent->users, 1);
	if (pd->td != NULL)
		atomic_fetch_sub(&pd->td->users, 1);
	free(pd);
	return 0;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct rnic_verbs_pd *pd = rnic_verbs_pd(ibv);
	int error = rnic_verbs_check_pd(ibv);

	if (error != 0)
		return rnic_verbs_errno(error);
	if (atomic_load(&pd->users) != 0)
		return rnic_verbs_errno(-EBUSY);
	if (pd->parent != NULL)
		return dealloc_parent_domain(pd);
	error = rnic_dealloc_pd(pd->native);
	if (error != 0)
		return rnic_verbs_errno(error);
	rnic_verbs_export_remove(&pd->export);
	free(pd);
	return 0;
}

struct ibv_pd *rnic_verbs_alloc_parent_domain(struct ibv_context *context,
					      struct ibv_parent_domain_init_attr *attributes)
{
	const uint32_t known =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	struct rnic_verbs_pd *pd;
	int error;

	if ((attributes->comp_mask & ~known) != 0)
		return rnic_verbs_null(EOPNOTSUPP);
	if (attributes->pd == NULL || attributes->pd->context != context ||
	    (attributes->td != NULL && attributes->td->context != context))
		return rnic_verbs_null(EINVAL);
	error = rnic_verbs_check_pd(attributes->pd);
	if (error == 0 && attributes->td != NULL)
		error = rnic_verbs_check_td(attributes->td);
	if (error != 0)
		return rnic_verbs_null(-error);
	pd = calloc(1, sizeof(*pd));
	if (pd == NULL)
		return rnic_verbs_null(ENOMEM);
	pd->pd.context = context;
	pd->pd.handle = attributes->pd->handle;
	pd->made = rnic_verbs_made(context, pd->pd.handle);
	pd->parent = rnic_verbs_pd(attributes->pd);
	pd->native = pd->parent->native;
	atomic_fetch_add(&pd->parent->users, 1);
	if (attributes->td != NULL) {
		pd->td = rnic_verbs_td(attributes->td);
		atomic_fetch_add(&pd->td->users, 1);
	}
	return &pd->pd;
}

struct ibv_td *rnic_verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attributes)
{
	struct rnic_verbs_td *td;

	if (attributes->comp_mask != 0)
		return rnic_verbs_null(EOPNOTSUPP);
	td = calloc(1, sizeof(*td));
	if (td == NULL)
		return rnic_verbs_null(ENOMEM);
	td->td.context = context;
	td->made = rnic_verbs_made(context, 0);
	return &td->td;
}

int rnic_verbs_dealloc_td(struct ibv_td *ibv)
{
	struct rnic_verbs_td *td = rnic_verbs_td(ibv);
	int error = rnic_verbs_check_td(ibv);

	if (error == 0 && atomic_load(&td->users) != 0)
		error = -EBUSY;
	if (error == 0)
		free(td);
	return rnic_verbs_errno(error);
}
