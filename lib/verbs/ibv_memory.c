/* SPDX-License-Identifier: MIT */
#include "verbs/ibv_objects.h"
#include "verbs/ibv_translate.h"

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
	pd->pd.context = context;
	return &pd->pd;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct rnic_verbs_pd *pd = rnic_verbs_pd(ibv);
	int error = rnic_dealloc_pd(pd->native);

	if (error == 0)
		free(pd);
	return rnic_verbs_errno(error);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				unsigned access)
{
	struct rnic_verbs_mr *mr = calloc(1, sizeof(*mr));
	int error;

	if (mr == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_reg_mr(rnic_verbs_pd(pd)->native, address, length, iova, access, &mr->native);
	if (error != 0) {
		free(mr);
		return rnic_verbs_null(-error);
	}
	mr->mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = address,
		.length = length,
		.lkey = rnic_mr_lkey(mr->native),
		.rkey = rnic_mr_rkey(mr->native),
	};
	return &mr->mr;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, address, length, iova, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned)access);
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct rnic_verbs_mr *mr = RNIC_CONTAINER_OF(ibv, struct rnic_verbs_mr, mr);
	int error = rnic_dereg_mr(mr->native);

	if (error == 0)
		free(mr);
	return rnic_verbs_errno(error);
}

/* An error in the input leaves the region as it was. */
int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *address, size_t length,
		 int access)
{
	(void)mr;
	(void)flags;
	(void)pd;
	(void)address;
	(void)length;
	(void)access;
	errno = EOPNOTSUPP;
	return IBV_REREG_MR_ERR_INPUT;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attributes)
{
	struct rnic_verbs_ah *ah;
	struct rnic_path path;
	int error;

	if (attributes->is_global == 0 || attributes->port_num != RNIC_VERBS_PORT)
		return rnic_verbs_null(EINVAL);
	ah = calloc(1, sizeof(*ah));
	if (ah == NULL)
		return rnic_verbs_null(ENOMEM);
	rnic_verbs_path(attributes, &path);
	error = rnic_create_ah(rnic_verbs_pd(pd)->native, &path, &ah->native);
	if (error != 0) {
		free(ah);
		return rnic_verbs_null(-error);
	}
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	return &ah->ah;
}

int ibv_destroy_ah(struct ibv_ah *ibv)
{
	struct rnic_verbs_ah *ah = RNIC_CONTAINER_OF(ibv, struct rnic_verbs_ah, ah);
	int error = rnic_destroy_ah(ah->native);

	if (error == 0)
		free(ah);
	return rnic_verbs_errno(error);
}
