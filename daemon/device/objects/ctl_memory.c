/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/object_requests.h"

#include "daemon/device/memory/own_memory.h"
#include "daemon/device/memory/watched_memory.h"
#include "daemon/device/objects/session_objects.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/mem/client_memory.h"
#include "proto/base/checked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_ACCESS_KNOWN                                                                        \
	(RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |            \
	 RNIC_ACCESS_REMOTE_ATOMIC | RNIC_ACCESS_MW_BIND | RNIC_ACCESS_ZERO_BASED |                \
	 RNIC_ACCESS_ON_DEMAND | RNIC_ACCESS_HUGETLB | RNIC_ACCESS_FLUSH_GLOBAL |                  \
	 RNIC_ACCESS_OPTIONAL_RANGE)
#define MEMORY_ACCESS_NEEDS_LOCAL (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC)

int ctl_alloc_pd(struct ctl_call *call)
{
	struct rnic_ctl_pd_reply *reply = (void *)call->reply.payload;
	struct session_pd *pd;
	int result = session_make_pd(call->session, NULL, &pd);

	if (result == -ENOSPC)
		return ctl_refuse(call, result, "no more protection domains are to be had");
	if (result == 0)
		reply->pd = pd->handle;
	return result;
}

int ctl_dealloc_pd(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct session_pd *pd = handle_table_get(&call->session->pds, request->handle);

	if (pd == NULL)
		return ctl_refuse(call, -EINVAL, "no such protection domain");
	if (pd->pd.references != 0)
		return ctl_refuse(call, -EBUSY, "%u objects still use this protection domain",
				  pd->pd.references);
	session_free_pd(call->session, pd);
	return 0;
}

/* Checks everything in a registration that does not depend on the kind of memory. */
static int memory_check(struct ctl_call *call, const struct rnic_ctl_register_mr *request)
{
	const uint64_t max_bytes =
		(request->access & RNIC_ACCESS_ON_DEMAND) != 0 || request->mode == RNIC_MEMORY_NULL
			? UINT64_MAX
			: call->session->set->facts->device.max_mr_bytes;
	uint64_t end;

	if ((request->access & ~(uint32_t)MEMORY_ACCESS_KNOWN) != 0)
		return ctl_refuse(call, -EOPNOTSUPP, "access flags %#x are not supported",
				  request->access);
	if ((request->access & MEMORY_ACCESS_NEEDS_LOCAL) != 0 &&
	    (request->access & RNIC_ACCESS_LOCAL_WRITE) == 0)
		return ctl_refuse(
			call, -EINVAL,
			"remote write and atomic access need IBV_ACCESS_LOCAL_WRITE as well "
			"(ibv_reg_mr(3))");
	if (request->length > max_bytes || !rnic_try_add(request->address, request->length, &end) ||
	    (request->length > 0 && !rnic_try_add(request->iova, request->length - 1, &end)))
		return ctl_refuse(call, -EINVAL, "the memory range is too long or wraps");
	return 0;
}

/* Null memory also stands for no memory: no access with bytes is within a region of length 0. */
static int memory_open_null(struct session_mr *mr)
{
	null_region_init(&mr->memory.null);
	mr->mode = RNIC_MEMORY_NULL;
	return 0;
}

static int memory_open_mapped(struct ctl_call *call, const struct rnic_ctl_register_mr *request,
			      struct session_mr *mr)
{
	int result;

	if (call->fd_count != 1)
		return ctl_refuse(call, -EINVAL, "mapped memory comes with a memfd");
	if (request->length == 0)
		return memory_open_null(mr);
	result = session_open_mapping(call->session, &mr->memory.mapped, call->fds[0],
				      request->memfd_offset, request->length);
	if (result == -ENOSPC)
		return ctl_refuse(call, result, "no more memory can be mapped for this client");
	if (result == -EPERM)
		return ctl_refuse(call, result,
				  "the descriptor is no memfd that is writable and cannot shrink");
	if (result != 0)
		return ctl_refuse(call, result, "the memfd cannot be mapped: %s",
				  strerror(-result));
	mr->mode = RNIC_MEMORY_MAPPED;
	return 0;
}

static int memory_open_remote(struct ctl_call *call, const struct rnic_ctl_register_mr *request,
			      struct session_mr *mr)
{
	struct session *session = call->session;
	int result;

	if (request->length == 0)
		return memory_open_null(mr);
	if (!session->has_process)
		return ctl_refuse(
			call, -EPERM,
			"the daemon cannot reach this process's memory: it is not dumpable, "
			"or process_vm_readv is forbidden; use rnic_alloc()");
	if ((request->access & RNIC_ACCESS_ON_DEMAND) != 0)
		result = remote_region_init_on_demand(&mr->memory.remote, &session->process,
						      request->address, request->length);
	else
		result = remote_region_init(&mr->memory.remote, &session->process, request->address,
					    request->length);
	if (result == -EOPNOTSUPP)
		return ctl_refuse(call, result,
				  "memory on demand needs process_vm_readv, which is forbidden");
	if (result != 0)
		return result;
	if (session->set->guard != NULL)
		own_region_init(&mr->memory.remote, session->set->guard);
	mr->mode = session->process.has_process_vm ? RNIC_MEMORY_PROCESS_VM : RNIC_MEMORY_PROC_MEM;
	return 0;
}

/* Returns the region through which the engine reaches the memory. */
static struct client_region *memory_region(struct session_mr *mr)
{
	switch (mr->mode) {
	case RNIC_MEMORY_MAPPED:
		return &mr->memory.mapped.region;
	case RNIC_MEMORY_NULL:
		return &mr->memory.null;
	default:
		return &mr->memory.remote.region;
	}
}

/* Opens the memory behind `mr` and fills in the engine's facts about it. */
static int memory_open(struct ctl_call *call, const struct rnic_ctl_register_mr *request,
		       struct session_pd *pd, struct session_mr *mr)
{
	int result;

	if (request->mode == RNIC_MEMORY_MAPPED)
		result = memory_open_mapped(call, request, mr);
	else if (request->mode == RNIC_MEMORY_REMOTE)
		result = memory_open_remote(call, request, mr);
	else if (request->mode == RNIC_MEMORY_NULL)
		result = memory_open_null(mr);
	else
		result = ctl_refuse(call, -EINVAL, "memory mode %u is not defined", request->mode);
	if (result != 0)
		return result;
	mr->mr.region = memory_region(mr);
	mr->mr.pd = &pd->pd;
	mr->mr.iova = request->iova;
	mr->mr.length = request->length;
	mr->mr.access = request->access & ~(uint32_t)RNIC_ACCESS_OPTIONAL_RANGE;
	mr->mr.user = mr;
	return 0;
}

/* `mr` is where it stays. */
static void memory_watch(struct session_mr *mr)
{
	if (session_mr_is_remote(mr))
		watched_region_open(&mr->memory.remote);
}

/* Opens the memory behind `mr`, and gives it keys and a handle. */
static int memory_register(struct ctl_call *call, const struct rnic_ctl_register_mr *request,
			   struct session_pd *pd, struct session_mr *mr)
{
	struct session *session = call->session;
	int result = memory_open(call, request, pd, mr);

	if (result != 0)
		return result;
	memory_watch(mr);
	result = mr_register(session->set->engine, &mr->mr);
	if (result != 0)
		goto close_memory;
	result = handle_table_add(&session->mrs, mr, &mr->handle);
	if (result != 0)
		goto deregister;
	session->registered_bytes += session_mr_bytes(mr);
	return 0;

deregister:
	mr_deregister(session->set->engine, &mr->mr);
close_memory:
	session_close_memory(session, mr);
	return result;
}

/* The descriptor in the call is the watch's from then on. */
static int memory_open_gate(struct ctl_call *call)
{
	struct session *session = call->session;
	struct remote_process *process = &session->process;
	int result;

	if (session->set->is_program)
		return memory_gate_open_own(&process->gate);
	/* A client that keeps the descriptor can make this process wait: see remote_memory.h. */
	if (process->pid_fd < 0)
		return -EACCES;
	result = quota_charge(session->account, RESOURCE_DESCRIPTORS, 1);
	if (result != 0)
		return result;
	result = memory_gate_open(&process->gate, call->fds[0]);
	if (result != 0) {
		quota_discharge(session->account, RESOURCE_DESCRIPTORS, 1);
		return result;
	}
	call->fds[0] = -1;
	return 0;
}

int ctl_watch_memory(struct ctl_call *call)
{
	const struct rnic_ctl_watch_memory *request = (const void *)call->request.payload;
	struct session *session = call->session;
	const bool is_wanted = request->watch == RNIC_WATCH_ON;
	int result;

	if (!is_wanted && request->watch != RNIC_WATCH_OFF && request->watch != RNIC_WATCH_REFUSED)
		return ctl_refuse(call, -EINVAL, "watch %u is not defined", request->watch);
	if (request->has_descriptor != (is_wanted && !session->set->is_program))
		return ctl_refuse(call, -EINVAL, "a watch comes with a userfaultfd");
	if (session->process.watch == RNIC_WATCH_ON)
		return ctl_refuse(call, -EINVAL, "WATCH_MEMORY came twice");
	if (!session->has_process)
		return 0;
	session->process.watch = (enum rnic_watch)request->watch;
	if (!is_wanted)
		return 0;
	result = memory_open_gate(call);
	if (result != 0)
		session->process.watch = result == -EACCES ? RNIC_WATCH_USER : RNIC_WATCH_REFUSED;
	if (result == -EINVAL)
		return ctl_refuse(call, result,
				  "the descriptor is no userfaultfd that nobody has "
				  "used");
	return 0;
}

int ctl_register_mr(struct ctl_call *call)
{
	const struct rnic_ctl_register_mr *request = (const void *)call->request.payload;
	struct rnic_ctl_register_mr_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct session_pd *pd = handle_table_get(&session->pds, request->pd);
	struct session_mr *mr;
	int result;

	if (pd == NULL)
		return ctl_refuse(call, -EINVAL, "no such protection domain");
	result = memory_check(call, request);
	if (result != 0)
		return result;
	result = quota_charge(session->account, RESOURCE_MR, 1);
	if (result != 0)
		return ctl_refuse(call, result, "no more memory regions are to be had");
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL) {
		result = -ENOMEM;
		goto discharge;
	}
	result = memory_register(call, request, pd, mr);
	if (result != 0)
		goto free_mr;
	reply->mr = mr->handle;
	reply->lkey = mr->mr.key;
	reply->rkey = mr->mr.key;
	return 0;

free_mr:
	free(mr);
discharge:
	quota_discharge(session->account, RESOURCE_MR, 1);
	return result;
}

/* Puts `fresh` in the place of `mr`. The key, handle and address of `mr` stay. */
static void memory_replace(struct session *session, struct session_mr *mr,
			   const struct session_mr *fresh)
{
	struct session_mr old = *mr;
	struct mr wanted = fresh->mr;

	/* Deferred placements into the old memory of the region go there first. */
	placement_run(session->set->engine);
	session->registered_bytes -= session_mr_bytes(mr);
	if (session_mr_is_remote(mr))
		session_close_memory(session, mr);
	mr->memory = fresh->memory;
	mr->mode = fresh->mode;
	wanted.region = memory_region(mr);
	wanted.user = mr;
	memory_watch(mr);
	mr_change(session->set->engine, &mr->mr, &wanted);
	session->registered_bytes += session_mr_bytes(mr);
	if (old.mode == RNIC_MEMORY_MAPPED)
		session_close_memory(session, &old);
}

/* Refuses to change a region with bound windows (IBTA 1.4, C10-71). */
static int memory_refuse_bound(struct ctl_call *call, const struct session_mr *mr)
{
	if (mr->mr.bound_windows == 0)
		return 0;
	return ctl_refuse(call, -EBUSY, "%u memory windows are bound to this region",
			  mr->mr.bound_windows);
}

int ctl_reregister_mr(struct ctl_call *call)
{
	const struct rnic_ctl_reregister_mr *request = (const void *)call->request.payload;
	struct session *session = call->session;
	struct session_pd *pd = handle_table_get(&session->pds, request->wanted.pd);
	struct session_mr *mr = handle_table_get(&session->mrs, request->mr);
	struct session_mr fresh = {0};
	int result;

	if (mr == NULL)
		return ctl_refuse(call, -EINVAL, "no such memory region");
	if (pd == NULL)
		return ctl_refuse(call, -EINVAL, "no such protection domain");
	result = memory_refuse_bound(call, mr);
	if (result == 0)
		result = memory_check(call, &request->wanted);
	if (result != 0)
		return result;
	result = memory_open(call, &request->wanted, pd, &fresh);
	if (result != 0)
		return result;
	memory_replace(session, mr, &fresh);
	return 0;
}

int ctl_deregister_mr(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct session_mr *mr = handle_table_get(&call->session->mrs, request->handle);
	int result;

	if (mr == NULL)
		return ctl_refuse(call, -EINVAL, "no such memory region");
	result = memory_refuse_bound(call, mr);
	if (result != 0)
		return result;
	session_free_mr(call->session, mr);
	return 0;
}
