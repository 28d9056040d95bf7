/* SPDX-License-Identifier: MIT */
/* Regions: the registration of ranges of memory. */
#include "lib/client/native/populate.h"
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"

#include <errno.h>
#include <stdlib.h>

/* The device refuses what remains, with a sentence that people find. */
static int check_access(uint32_t access)
{
	const uint32_t served =
		RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |
		RNIC_ACCESS_REMOTE_ATOMIC | RNIC_ACCESS_MW_BIND | RNIC_ACCESS_ZERO_BASED |
		RNIC_ACCESS_ON_DEMAND | RNIC_ACCESS_HUGETLB | RNIC_ACCESS_FLUSH_GLOBAL;

	return (access & ~(served | RNIC_ACCESS_OPTIONAL_RANGE)) == 0 ? 0 : -EOPNOTSUPP;
}

static int check_range(const void *address, size_t length, uint64_t iova, uint32_t access)
{
	uint64_t end;
	int error;

	if (length > 0 && __builtin_add_overflow(iova, (uint64_t)length - 1, &end))
		return -EINVAL;
	error = check_access(access);
	if (error != 0 || length == 0 || (access & RNIC_ACCESS_ON_DEMAND) != 0)
		return error;
	return rnic_populate(address, length, (access & RNIC_ACCESS_LOCAL_WRITE) != 0,
			     RNIC_POPULATE_BYTES);
}

static struct rnic_ctl_register_mr register_request(const struct rnic_pd *pd, const void *address,
						    size_t length, uint64_t iova, uint32_t access)
{
	return (struct rnic_ctl_register_mr){
		.pd = pd->handle,
		.access = access & ~(uint32_t)RNIC_ACCESS_OPTIONAL_RANGE,
		.address = (uintptr_t)address,
		.length = length,
		.iova = iova,
	};
}

/*
 * Adds to `wanted`, which `call` carries, how the daemon is to reach the memory, and makes the
 * call. The lock keeps rnic_free() from closing the block's descriptor meanwhile. A region without
 * bytes has no memory to be reached.
 */
static int call_with_memory(struct rnic_context *context, struct rnic_ctl_register_mr *wanted,
			    struct rnic_call *call)
{
	const struct rnic_block *block;
	int error;

	pthread_mutex_lock(&context->objects_lock);
	block = wanted->length == 0
			? NULL
			: rnic_block_find(context, (const void *)(uintptr_t)wanted->address,
					  wanted->length);
	call->request_fd = block == NULL ? -1 : block->fd;
	wanted->mode = block == NULL ? RNIC_MEMORY_REMOTE : RNIC_MEMORY_MAPPED;
	if (block == NULL && wanted->length > 0 && (wanted->access & RNIC_ACCESS_ON_DEMAND) == 0)
		rnic_context_watch_memory(context);
	if (block != NULL)
		wanted->memfd_offset = wanted->address - (uintptr_t)block->memory;
	error = rnic_link_call(&context->device, call);
	pthread_mutex_unlock(&context->objects_lock);
	return error;
}

int rnic_reg_mr(struct rnic_pd *pd, void *address, size_t length, uint64_t iova, uint32_t access,
		struct rnic_mr **registered)
{
	RNIC_REFUSE_NULL(pd, registered);
	struct rnic_context *context = pd->context;
	struct rnic_ctl_register_mr request = register_request(pd, address, length, iova, access);
	struct rnic_ctl_register_mr_reply reply;
	struct rnic_call call = {
		.operation = RNIC_CTL_REGISTER_MR,
		.request = &request,
		.request_bytes = sizeof(request),
		.reply = &reply,
		.reply_bytes = sizeof(reply),
	};
	struct rnic_mr *mr;
	int error = rnic_context_lost(context);

	if (error != 0)
		return error;
	error = check_range(address, length, iova, access);
	if (error != 0)
		return error;
	mr = malloc(sizeof(*mr));
	if (mr == NULL)
		return -ENOMEM;
	error = call_with_memory(context, &request, &call);
	if (error != 0) {
		free(mr);
		return error;
	}
	*mr = (struct rnic_mr){
		.context = context, .handle = reply.mr, .lkey = reply.lkey, .rkey = reply.rkey};
	rnic_context_hold(context);
	*registered = mr;
	return 0;
}

int rnic_alloc_null_mr(struct rnic_pd *pd, struct rnic_mr **allocated)
{
	RNIC_REFUSE_NULL(pd, allocated);
	struct rnic_context *context = pd->context;
	const struct rnic_ctl_register_mr request = {
		.pd = pd->handle,
		.access = RNIC_ACCESS_LOCAL_WRITE,
		.mode = RNIC_MEMORY_NULL,
		.length = UINT64_MAX,
	};
	struct rnic_ctl_register_mr_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_REGISTER_MR, request, reply);
	int error;
	struct rnic_mr *mr = rnic_object_create(context, &call, sizeof(*mr), &error);

	if (mr == NULL)
		return error;
	*mr = (struct rnic_mr){
		.context = context, .handle = reply.mr, .lkey = reply.lkey, .rkey = reply.rkey};
	*allocated = mr;
	return 0;
}

int rnic_rereg_mr(struct rnic_mr *mr, struct rnic_pd *pd, void *address, size_t length,
		  uint64_t iova, uint32_t access)
{
	RNIC_REFUSE_NULL(mr, pd);
	struct rnic_ctl_reregister_mr request = {
		.wanted = register_request(pd, address, length, iova, access),
		.mr = mr->handle,
	};
	struct rnic_call call = {
		.operation = RNIC_CTL_REREGISTER_MR,
		.request = &request,
		.request_bytes = sizeof(request),
	};
	int error = rnic_context_lost(mr->context);

	if (error != 0)
		return error;
	if (pd->context != mr->context)
		return -EINVAL;
	error = check_range(address, length, iova, access);
	if (error != 0)
		return error;
	return call_with_memory(mr->context, &request.wanted, &call);
}

int rnic_dereg_mr(struct rnic_mr *mr)
{
	RNIC_REFUSE_NULL(mr);
	return rnic_object_destroy(mr->context, RNIC_CTL_DEREGISTER_MR, mr->handle, mr);
}

uint32_t rnic_mr_lkey(const struct rnic_mr *mr)
{
	return mr != NULL ? mr->lkey : 0;
}

uint32_t rnic_mr_rkey(const struct rnic_mr *mr)
{
	return mr != NULL ? mr->rkey : 0;
}
