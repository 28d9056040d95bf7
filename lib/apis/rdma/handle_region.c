/* SPDX-License-Identifier: MIT */
#include "lib/apis/rdma/handle_objects.h"

#include <stdlib.h>

#define ALL_RIGHTS (RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE | RDMA_ACCESS_REMOTE_READ)

static void end_region(struct rnic_handle *handle)
{
	struct rnic_handle_region *region = (struct rnic_handle_region *)handle;

	if (region->memory != NULL)
		rnic_free(region->domain->context, region->memory);
	rnic_handle_domain_release(region->domain);
	free(region);
}

/* Registers the memory at `addr`, or, where `memory` is not NULL, new memory of the region. */
static int register_region(void *addr, uint64_t length, int access_flags, void **memory)
{
	struct rnic_handle_region *region = calloc(1, sizeof(*region));
	int error;

	if (region == NULL)
		return -ENOMEM;
	error = rnic_handle_domain_hold(&region->domain);
	if (error == 0 && memory != NULL) {
		error = rnic_alloc(region->domain->context, length, &region->memory);
		addr = region->memory;
	}
	if (error == 0)
		error = rnic_reg_mr(region->domain->pd, addr, length, (uintptr_t)addr,
				    (uint32_t)access_flags, &region->mr);
	if (error != 0) {
		end_region(&region->handle);
		return error;
	}
	region->address = (uintptr_t)addr;
	region->length = length;
	region->access_flags = access_flags;
	region->lkey = rnic_mr_lkey(region->mr);
	region->rkey = rnic_mr_rkey(region->mr);
	if (memory != NULL)
		*memory = region->memory;
	return rnic_handle_add(&region->handle, RNIC_HANDLE_REGION, -1, end_region);
}

static bool is_possible(uint64_t length, int access_flags)
{
	return length > 0 && length <= SIZE_MAX && (access_flags & ~ALL_RIGHTS) == 0;
}

int rnic_rdma_reg_mr(void *addr, uint64_t length, int access_flags)
{
	int cancellation;

	if (!is_possible(length, access_flags))
		return rnic_handle_result(-EINVAL);
	cancellation = rnic_handle_enter();
	return rnic_handle_leave(cancellation, register_region(addr, length, access_flags, NULL));
}

int rnic_rdma_alloc_mr(void **addr, uint64_t length, int access_flags)
{
	void *memory = NULL;
	int cancellation, result;

	if (addr == NULL || !is_possible(length, access_flags))
		return rnic_handle_result(-EINVAL);
	cancellation = rnic_handle_enter();
	result = register_region(NULL, length, access_flags, &memory);
	if (result >= 0)
		*addr = memory;
	return rnic_handle_leave(cancellation, result);
}

int rnic_rdma_dereg_mr(int mr_handle)
{
	const int cancellation = rnic_handle_enter();
	struct rnic_handle *handle = rnic_handle_remove(RNIC_HANDLE_REGION, mr_handle);

	if (handle == NULL)
		return rnic_handle_leave(cancellation, -EBADF);
	rnic_dereg_mr(((struct rnic_handle_region *)handle)->mr);
	rnic_handle_release(handle);
	return rnic_handle_leave(cancellation, 0);
}

uint32_t rnic_rdma_mr_rkey(int mr_handle)
{
	const int cancellation = rnic_handle_enter();
	struct rnic_handle *handle = rnic_handle_hold(RNIC_HANDLE_REGION, mr_handle);
	uint32_t rkey = 0;

	if (handle != NULL)
		rkey = ((struct rnic_handle_region *)handle)->rkey;
	rnic_handle_release(handle);
	rnic_handle_leave(cancellation, handle != NULL ? 0 : -EBADF);
	return rkey;
}
