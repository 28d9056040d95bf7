/* SPDX-License-Identifier: MIT */
/*
 * Device memory: memory that the daemon maps as well, so that it is the nearest to the device that
 * there is. Its addresses are offsets; programs reach it by copying, as they must on hardware.
 */
#include "verbs/ibv_session.h"
#include "verbs/ibv_translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT	    12
#define COPY_ALIGNMENT_MASK 3U /* copies move words, as hardware demands */

static struct rnic_verbs_dm *from_ibv(struct ibv_dm *dm)
{
	return RNIC_CONTAINER_OF(dm, struct rnic_verbs_dm, dm);
}

static bool may_copy(const struct rnic_verbs_dm *dm, uint64_t offset, size_t length)
{
	return ((offset | length) & COPY_ALIGNMENT_MASK) == 0 && offset <= dm->bytes &&
	       length <= dm->bytes - offset;
}

static int memcpy_to_dm(struct ibv_dm *ibv, uint64_t offset, const void *from, size_t length)
{
	struct rnic_verbs_dm *dm = from_ibv(ibv);

	if (!may_copy(dm, offset, length))
		return rnic_verbs_errno(-EINVAL);
	memcpy(dm->memory + offset, from, length);
	return 0;
}

static int memcpy_from_dm(void *to, struct ibv_dm *ibv, uint64_t offset, size_t length)
{
	struct rnic_verbs_dm *dm = from_ibv(ibv);

	if (!may_copy(dm, offset, length))
		return rnic_verbs_errno(-EINVAL);
	memcpy(to, dm->memory + offset, length);
	return 0;
}

static void dm_set_up(struct rnic_verbs_dm *dm, struct ibv_context *context)
{
	dm->dm = (struct ibv_dm){
		.context = context,
		.memcpy_to_dm = memcpy_to_dm,
		.memcpy_from_dm = memcpy_from_dm,
		.comp_mask = IBV_DM_MASK_HANDLE,
		.handle = dm->export.handle,
	};
}

struct ibv_dm *rnic_verbs_alloc_dm(struct ibv_context *context,
				   struct ibv_alloc_dm_attr *attributes)
{
	struct rnic_verbs_dm *dm;
	void *memory;
	int error;

	if (attributes->comp_mask != 0)
		return rnic_verbs_null(EOPNOTSUPP);
	/* The memory begins with a page, which meets every alignment up to that. */
	if (attributes->length == 0 || attributes->log_align_req > PAGE_SHIFT)
		return rnic_verbs_null(EINVAL);
	dm = calloc(1, sizeof(*dm));
	if (dm == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_verbs_dm_take(context, attributes->length);
	if (error != 0)
		goto free_dm;
	error = rnic_alloc(rnic_verbs_native(context), attributes->length, &memory);
	if (error != 0)
		goto give_back;
	dm->memory = memory;
	dm->bytes = attributes->length;
	rnic_verbs_export_add(context, &dm->export, RNIC_VERBS_EXPORT_DM, 0);
	dm_set_up(dm, context);
	return &dm->dm;

give_back:
	rnic_verbs_dm_give_back(context, attributes->length);
free_dm:
	free(dm);
	return rnic_verbs_null(-error);
}

int rnic_verbs_free_dm(struct ibv_dm *ibv)
{
	struct rnic_verbs_dm *dm = from_ibv(ibv);
	int error;

	if (atomic_load(&dm->users) != 0)
		return rnic_verbs_errno(-EBUSY);
	error = rnic_free(rnic_verbs_native(ibv->context), dm->memory);
	if (error != 0)
		return rnic_verbs_errno(error);
	rnic_verbs_dm_give_back(ibv->context, dm->bytes);
	rnic_verbs_export_remove(ibv->context, &dm->export);
	free(dm);
	return 0;
}

struct ibv_mr *rnic_verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t offset,
				    size_t length, unsigned access)
{
	struct rnic_verbs_dm *dm = from_ibv(ibv);
	struct ibv_mr *mr;

	if ((access & IBV_ACCESS_ZERO_BASED) == 0 || ibv->context != pd->context ||
	    offset > dm->bytes || length > dm->bytes - offset)
		return rnic_verbs_null(EINVAL);
	mr = ibv_reg_mr_iova2(pd, dm->memory + offset, length, 0, access);
	if (mr == NULL)
		return NULL;
	mr->addr = NULL;
	rnic_verbs_mr(mr)->dm = dm;
	atomic_fetch_add(&dm->users, 1);
	return mr;
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct rnic_verbs_export *export =
		rnic_verbs_export_find(context, RNIC_VERBS_EXPORT_DM, handle);
	const struct rnic_verbs_dm *source;
	struct rnic_verbs_dm *dm;

	if (export == NULL)
		return rnic_verbs_null(EINVAL);
	source = RNIC_CONTAINER_OF(export, struct rnic_verbs_dm, export);
	dm = calloc(1, sizeof(*dm));
	if (dm == NULL)
		return rnic_verbs_null(ENOMEM);
	dm->memory = source->memory;
	dm->bytes = source->bytes;
	dm->export.handle = handle;
	dm_set_up(dm, context);
	return &dm->dm;
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
	free(from_ibv(dm));
}
