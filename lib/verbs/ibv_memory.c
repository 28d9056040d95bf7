/* SPDX-License-Identifier: MIT */
#include "base/checked.h"
#include "native/populate.h"
#include "verbs/ibv_session.h"
#include "verbs/ibv_translate.h"

#include <errno.h>
#include <stdlib.h>

/* All registrations come here. With ZERO_BASED addresses count from 0, whatever `iova` says. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				unsigned access)
{
	struct rnic_verbs_mr *mr = calloc(1, sizeof(*mr));
	int error;

	if (mr == NULL)
		return rnic_verbs_null(ENOMEM);
	if ((access & IBV_ACCESS_ZERO_BASED) != 0)
		iova = 0;
	error = rnic_reg_mr(rnic_verbs_pd(pd)->native, address, length, iova, access, &mr->native);
	if (error != 0) {
		free(mr);
		return rnic_verbs_null(-error);
	}
	mr->memory = address;
	mr->iova = iova;
	mr->access = access;
	rnic_verbs_export_add(pd->context, &mr->export, RNIC_VERBS_EXPORT_MR,
			      rnic_mr_lkey(mr->native));
	mr->mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = address,
		.length = length,
		.handle = mr->export.handle,
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
	struct rnic_verbs_mr *mr = rnic_verbs_mr(ibv);
	int error = rnic_dereg_mr(mr->native);

	if (error != 0)
		return rnic_verbs_errno(error);
	if (mr->dm != NULL)
		atomic_fetch_sub(&mr->dm->users, 1);
	rnic_verbs_export_remove(ibv->context, &mr->export);
	free(mr);
	return 0;
}

static int check_rereg(const struct rnic_verbs_mr *mr, int flags, const struct ibv_pd *pd,
		       const void *address, size_t length)
{
	if (flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0)
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0 &&
	    (address == NULL || length == 0 || mr->dm != NULL))
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && (pd == NULL || pd->context != mr->mr.context))
		return -EINVAL;
	return 0;
}

/*
 * The daemon changes all or nothing, so an error leaves the region as it was, which is what
 * ERR_INPUT says; the other codes are of no use here. The keys stay.
 */
int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *address, size_t length,
		 int access)
{
	struct rnic_verbs_mr *mr = rnic_verbs_mr(ibv);
	struct ibv_mr shown = *ibv;
	uint8_t *memory = mr->memory;
	uint32_t rights = mr->access;
	uint64_t iova = mr->iova;
	int error = check_rereg(mr, flags, pd, address, length);

	if (error != 0)
		goto fail;
	if ((flags & IBV_REREG_MR_CHANGE_PD) != 0)
		shown.pd = pd;
	if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0)
		rights = (uint32_t)access;
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
		memory = address;
		shown.addr = address;
		shown.length = length;
		iova = (rights & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : (uintptr_t)address;
	}
	error = rnic_rereg_mr(mr->native, rnic_verbs_pd(shown.pd)->native, memory, shown.length,
			      iova, rights);
	if (error != 0)
		goto fail;
	*ibv = shown;
	mr->memory = memory;
	mr->iova = iova;
	mr->access = rights;
	return 0;

fail:
	errno = -error;
	return IBV_REREG_MR_ERR_INPUT;
}

static int prefetch(struct ibv_pd *pd, const struct ibv_sge *element, bool for_writing)
{
	const struct rnic_verbs_mr *mr = rnic_verbs_mr_of_key(pd->context, element->lkey);

	if (mr == NULL || rnic_verbs_pd(mr->mr.pd)->native != rnic_verbs_pd(pd)->native)
		return -EINVAL;
	if (element->addr < mr->iova ||
	    !rnic_range_within(element->addr - mr->iova, element->length, mr->mr.length))
		return -EINVAL;
	if (for_writing && (mr->access & IBV_ACCESS_LOCAL_WRITE) == 0)
		return -EPERM;
	return rnic_populate(mr->memory + (element->addr - mr->iova), element->length, for_writing);
}

/*
 * Prefetching is done at once, with or without FLUSH. NO_FAULT asks for pages that are there
 * already to be made ready, and they are.
 */
int rnic_verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			 struct ibv_sge *elements, uint32_t count)
{
	const bool for_writing = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	int error = 0;

	if ((flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH) != 0)
		return rnic_verbs_errno(-EINVAL);
	if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return 0;
	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH && !for_writing)
		return rnic_verbs_errno(-EOPNOTSUPP);
	for (uint32_t i = 0; i < count && error == 0; i++)
		error = prefetch(pd, &elements[i], for_writing);
	return rnic_verbs_errno(error);
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
