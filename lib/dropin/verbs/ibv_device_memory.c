/* SPDX-License-Identifier: MIT */
/*
 * Device memory: memory that the daemon maps as well, and so the nearest to the device that there
 * is. Its addresses are offsets; programs reach it by copying, as they must on hardware.
 */
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_opened.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT	    12
#define COPY_ALIGNMENT_MASK 3U /* copies move words, as hardware demands */

static bool may_copy(const struct rnic_verbs_dm *dm, uint64_t offset, size_t length)
{
	return ((offset | length) & COPY_ALIGNMENT_MASK) == 0 && offset <= dm->memory->length &&
	       length <= dm->memory->length - offset;
}

static int memcpy_to_dm(struct ibv_dm *ibv, uint64_t offset, const void *from, size_t length)
{
	struct rnic_verbs_dm *dm = rnic_verbs_dm(ibv);

	if (!may_copy(dm, offset, length))
		return rnic_verbs_errno(-EINVAL);
	memcpy(dm->memory->bytes + offset, from, length);
	return 0;
}

static int memcpy_from_dm(void *to, struct ibv_dm *ibv, uint64_t offset, size_t length)
{
	struct rnic_verbs_dm *dm = rnic_verbs_dm(ibv);

	if (!may_copy(dm, offset, length))
		return rnic_verbs_errno(-EINVAL);
	memcpy(to, dm->memory->bytes + offset, length);
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
	dm->made = rnic_verbs_made(context, dm->dm.handle);
}

static int memory_create(struct ibv_context *context, size_t length,
			 struct rnic_verbs_dm_memory **created)
{
	struct rnic_verbs_dm_memory *memory = calloc(1, sizeof(*memory));
	void *bytes;
	int error;

	if (memory == NULL)
		return -ENOMEM;
	error = rnic_verbs_dm_take(context, length);
	if (error != 0)
		goto free_memory;
	error = rnic_alloc(rnic_verbs_native(context), length, &bytes);
	if (error != 0)
		goto give_back;
	memory->native = rnic_verbs_native(context);
	memory->bytes = bytes;
	memory->length = length;
	atomic_init(&memory->references, 1);
	*created = memory;
	return 0;

give_back:
	rnic_verbs_dm_give_back(context, length);
free_memory:
	free(memory);
	return error;
}

static void memory_release(struct ibv_context *context, struct rnic_verbs_dm_memory *memory)
{
	if (atomic_fetch_sub(&memory->references, 1) != 1)
		return;
	rnic_free(memory->native, memory->bytes);
	rnic_verbs_dm_give_back(context, memory->length);
	free(memory);
}

struct ibv_dm *rnic_verbs_alloc_dm(struct ibv_context *context,
				   struct ibv_alloc_dm_attr *attributes)
{
	struct rnic_verbs_dm *dm;
	int error;

	if (attributes->comp_mask != 0)
		return rnic_verbs_null(EOPNOTSUPP);
	/* The memory begins with a page, which meets every alignment up to that. */
	if (attributes->length == 0 || attributes->log_align_req > PAGE_SHIFT)
		return rnic_verbs_null(EINVAL);
	dm = calloc(1, sizeof(*dm));
	if (dm == NULL)
		return rnic_verbs_null(ENOMEM);
	error = memory_create(context, attributes->length, &dm->memory);
	if (error != 0) {
		free(dm);
		return rnic_verbs_null(-error);
	}
	rnic_verbs_export_add(context, &dm->export, RNIC_VERBS_EXPORT_DM, 0, 0);
	dm_set_up(dm, context);
	return &dm->dm;
}

int rnic_verbs_free_dm(struct ibv_dm *ibv)
{
	struct rnic_verbs_dm *dm = rnic_verbs_dm(ibv);
	int error = rnic_verbs_check_dm(ibv);

	if (error == 0 && atomic_load(&dm->memory->regions) != 0)
		error = -EBUSY;
	if (error != 0)
		return rnic_verbs_errno(error);
	rnic_verbs_export_remove(&dm->export);
	memory_release(ibv->context, dm->memory);
	free(dm);
	return 0;
}

void rnic_verbs_dm_region_made(struct rnic_verbs_dm_memory *memory)
{
	atomic_fetch_add(&memory->references, 1);
	atomic_fetch_add(&memory->regions, 1);
}

void rnic_verbs_dm_region_gone(struct ibv_context *context, struct rnic_verbs_dm_memory *memory)
{
	atomic_fetch_sub(&memory->regions, 1);
	memory_release(context, memory);
}

/* Only the memory's own process has mapped it. */
struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct rnic_verbs_export *export =
		rnic_verbs_export_find(context, RNIC_VERBS_EXPORT_DM, handle);
	struct rnic_verbs_dm *dm;

	if (rnic_verbs_is_importer(context))
		return rnic_verbs_null(EOPNOTSUPP);
	if (export == NULL)
		return rnic_verbs_null(EINVAL);
	dm = calloc(1, sizeof(*dm));
	if (dm == NULL)
		return rnic_verbs_null(ENOMEM);
	dm->memory = RNIC_CONTAINER_OF(export, struct rnic_verbs_dm, export)->memory;
	dm->export.handle = handle;
	atomic_fetch_add(&dm->memory->references, 1);
	dm_set_up(dm, context);
	return &dm->dm;
}

/* The regions go on, because they hold the memory themselves. */
void ibv_unimport_dm(struct ibv_dm *ibv)
{
	struct rnic_verbs_dm *dm = rnic_verbs_dm(ibv);

	memory_release(dm->made.context, dm->memory);
	free(dm);
}
