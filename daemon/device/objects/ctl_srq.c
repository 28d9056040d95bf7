/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/object_requests.h"

#include "daemon/device/objects/ctl_region.h"
#include "daemon/device/objects/session_objects.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/engine/verbs/srq.h"
#include "proto/shm/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Grants the requested sizes, but at least one SGE. MODIFY_SRQ arms the limit later. */
static int srq_grant(struct ctl_call *call, const struct rnic_srq_attributes *wanted,
		     struct rnic_srq_attributes *granted)
{
	const struct rnic_device_attributes *device = &call->session->set->facts->device;

	if (wanted->max_wr == 0 || wanted->max_wr > device->max_srq_wr)
		return ctl_refuse(call, -EINVAL, "a shared receive queue holds 1 to %u entries",
				  device->max_srq_wr);
	if (wanted->max_sge > device->max_srq_sge)
		return ctl_refuse(call, -EINVAL, "a receive entry has at most %u SGEs",
				  device->max_srq_sge);
	*granted = (struct rnic_srq_attributes){
		.max_wr = wanted->max_wr,
		.max_sge = wanted->max_sge > 0 ? wanted->max_sge : 1,
	};
	return 0;
}

/* Makes the region of a ring, charges the client, and plans the ring. */
static int srq_open_region(struct ctl_call *call, const struct rnic_srq_attributes *granted,
			   struct shared_region *region, struct rnic_queue_plan *ring)
{
	struct rnic_srq_plan plan;
	int result = rnic_srq_plan(granted, &plan);

	if (result != 0)
		return ctl_refuse(call, result, "the queue would be too large");
	result = ctl_region_open(call, region, RNIC_REGION_SRQ, plan.region_bytes);
	if (result != 0)
		return result;
	*ring = plan.recv;
	return 0;
}

/* Makes `region`, in which the ring lies by `plan`, the region of the SRQ. */
static void srq_use_region(struct session_srq *srq, const struct shared_region *region,
			   const struct rnic_queue_plan *plan)
{
	struct rnic_srq_region *head = region->address;

	srq->region = *region;
	srq->recv.wqes = client_ring_at(plan, region->address, region->address);
	srq->recv.producer = &head->recv_producer.value;
	srq->recv.srq_consumer = &head->srq_consumer;
}

/* The objects that an SRQ refers to. */
struct srq_objects {
	struct session_pd *pd;
	struct session_xrcd *xrcd; /* set together with `cq`, else both are NULL */
	struct session_cq *cq;
};

static int srq_find_objects(struct ctl_call *call, const struct rnic_ctl_create_srq *request,
			    struct srq_objects *objects)
{
	const struct session *session = call->session;
	bool is_xrc = !rnic_handle_is_none(request->xrcd);

	*objects = (struct srq_objects){
		.pd = handle_table_get(&session->pds, request->pd),
		.xrcd = is_xrc ? handle_table_get(&session->xrcds, request->xrcd) : NULL,
		.cq = is_xrc ? handle_table_get(&session->cqs, request->cq) : NULL,
	};
	if (objects->pd == NULL)
		return ctl_refuse(call, -EINVAL, "no such protection domain");
	if (is_xrc && (objects->xrcd == NULL || objects->cq == NULL))
		return ctl_refuse(call, -EINVAL, "no such XRC domain or completion queue");
	return 0;
}

static int srq_open_engine(struct session_srq *srq, const struct srq_objects *objects,
			   const struct rnic_srq_attributes *granted)
{
	const struct srq_config config = {
		.pd = &objects->pd->pd,
		.xrcd = objects->xrcd != NULL ? &objects->xrcd->domain->xrcd : NULL,
		.cq = objects->cq != NULL ? &objects->cq->cq : NULL,
		.max_wr = granted->max_wr,
		.max_sge = granted->max_sge,
		.user = srq,
	};
	int result = srq_create(srq->session->set->engine, &config, &srq->srq);

	if (result != 0)
		return result;
	srq->srq->queue.user = &srq->recv;
	srq->recv.number = srq->srq->number;
	srq->xrcd = objects->xrcd;
	if (srq->xrcd != NULL)
		srq->xrcd->references++;
	return 0;
}

static int srq_open(struct ctl_call *call, const struct srq_objects *objects,
		    const struct rnic_srq_attributes *granted, struct session_srq *srq)
{
	struct session *session = call->session;
	struct shared_region region;
	struct rnic_queue_plan plan = {0};
	int result = handle_table_add(&session->srqs, srq, &srq->handle);

	if (result != 0)
		return result;
	srq->recv = (struct receive_ring){
		.session = session,
		.sge_max = granted->max_sge,
	};
	result = srq_open_region(call, granted, &region, &plan);
	if (result != 0)
		goto remove_handle;
	srq_use_region(srq, &region, &plan);
	result = srq_open_engine(srq, objects, granted);
	if (result != 0)
		goto close_region;
	srq->async.slot = srq->handle.slot;
	srq->async.generation = srq->handle.generation;
	call->reply_fd_count = 1;
	return 0;

close_region:
	ctl_region_close(call, &srq->region);
remove_handle:
	handle_table_remove(&session->srqs, srq->handle);
	return result;
}

int ctl_create_srq(struct ctl_call *call)
{
	const struct rnic_ctl_create_srq *request = (const void *)call->request.payload;
	struct rnic_ctl_create_srq_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct rnic_srq_attributes granted;
	struct srq_objects objects;
	struct session_srq *srq;
	int result = srq_find_objects(call, request, &objects);

	if (result != 0)
		return result;
	result = srq_grant(call, &request->wanted, &granted);
	if (result != 0)
		return result;
	result = quota_charge(session->account, RESOURCE_SRQ, 1);
	if (result != 0)
		return ctl_refuse(call, result, "no more shared receive queues are to be had");
	srq = calloc(1, sizeof(*srq));
	if (srq == NULL) {
		result = -ENOMEM;
		goto discharge;
	}
	srq->session = session;
	result = srq_open(call, &objects, &granted, srq);
	if (result != 0)
		goto free_srq;
	*reply = (struct rnic_ctl_create_srq_reply){srq->handle, srq->srq->number, granted};
	return 0;

free_srq:
	free(srq);
discharge:
	quota_discharge(session->account, RESOURCE_SRQ, 1);
	return result;
}

int ctl_modify_srq(struct ctl_call *call)
{
	const struct rnic_ctl_modify_srq *request = (const void *)call->request.payload;
	struct session_srq *srq = handle_table_get(&call->session->srqs, request->srq);

	if (srq == NULL)
		return ctl_refuse(call, -EINVAL, "no such shared receive queue");
	if ((request->mask & ~(uint32_t)RNIC_SRQ_ATTR_LIMIT) != 0)
		return ctl_refuse(call, -EINVAL, "MODIFY_SRQ changes no attributes %#x",
				  request->mask);
	if ((request->mask & RNIC_SRQ_ATTR_LIMIT) == 0)
		return 0;
	if (srq_set_limit(srq->srq, request->attributes.limit) != 0)
		return ctl_refuse(call, -EINVAL, "the limit is larger than the queue");
	return 0;
}

/* Moves the WQEs that wait in the ring to the same indices of a ring of another size. */
static void srq_move_entries(const struct receive_ring *from, const struct shared_region *region,
			     const struct rnic_queue_plan *plan)
{
	const uint32_t end = from->consumer + wqe_fetch_waiting_recvs(from);
	const struct client_ring *old = &from->wqes;
	struct rnic_srq_region *head = region->address;
	uint8_t *new = region->address;

	assert(plan->spill_stride_bytes == old->spill_stride_bytes);
	for (uint32_t i = from->consumer; i != end; i++) {
		const uint64_t old_slot = i & (old->slots - 1);
		const uint64_t new_slot = i & (plan->slots - 1);

		memcpy(new + plan->entries_offset + new_slot * sizeof(struct rnic_recv_wqe),
		       old->entries + old_slot * sizeof(struct rnic_recv_wqe),
		       sizeof(struct rnic_recv_wqe));
		memcpy(new + plan->spill_offset + new_slot * plan->spill_stride_bytes,
		       old->spill + old_slot * plan->spill_stride_bytes, plan->spill_stride_bytes);
	}
	rnic_index_publish(&head->recv_producer, end);
	rnic_index_publish(&head->srq_consumer, from->consumer);
}

/* Checks RESIZE_SRQ, and stores the sizes that it requests and the limit that it keeps. */
static int srq_check_resize(struct ctl_call *call, const struct rnic_ctl_modify_srq *request,
			    const struct session_srq *srq, struct rnic_srq_attributes *granted)
{
	const uint32_t known = RNIC_SRQ_ATTR_MAX_WR | RNIC_SRQ_ATTR_LIMIT;
	const struct rnic_srq_attributes wanted = {
		.max_wr = request->attributes.max_wr,
		.max_sge = srq->srq->max_sge,
	};
	int result;

	if ((request->mask & ~known) != 0 || (request->mask & RNIC_SRQ_ATTR_MAX_WR) == 0)
		return ctl_refuse(call, -EINVAL, "RESIZE_SRQ does not do %#x", request->mask);
	result = srq_grant(call, &wanted, granted);
	if (result != 0)
		return result;
	granted->limit = (request->mask & RNIC_SRQ_ATTR_LIMIT) != 0 ? request->attributes.limit
								    : srq->srq->limit;
	if (srq_check_size(srq->srq, granted->max_wr, granted->limit) != 0)
		return ctl_refuse(call, -EINVAL, "%u entries wait in the queue, its limit is %u",
				  srq_waiting(srq->srq), granted->limit);
	return 0;
}

int ctl_resize_srq(struct ctl_call *call)
{
	const struct rnic_ctl_modify_srq *request = (const void *)call->request.payload;
	struct rnic_ctl_resize_srq_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct session_srq *srq = handle_table_get(&session->srqs, request->srq);
	struct rnic_srq_attributes granted;
	struct shared_region region;
	struct rnic_queue_plan plan = {0};
	int result;

	if (srq == NULL)
		return ctl_refuse(call, -EINVAL, "no such shared receive queue");
	result = srq_check_resize(call, request, srq, &granted);
	if (result != 0)
		return result;
	result = srq_open_region(call, &granted, &region, &plan);
	if (result != 0)
		return result;
	srq_move_entries(&srq->recv, &region, &plan);
	session_close_shared(session, &srq->region);
	srq_use_region(srq, &region, &plan);
	srq_set_size(srq->srq, granted.max_wr);
	result = srq_set_limit(srq->srq, granted.limit);
	assert(result == 0);
	call->reply_fd_count = 1;
	reply->granted = granted;
	return 0;
}

int ctl_query_srq(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct rnic_ctl_query_srq_reply *reply = (void *)call->reply.payload;
	const struct session_srq *srq = handle_table_get(&call->session->srqs, request->handle);

	if (srq == NULL)
		return ctl_refuse(call, -EINVAL, "no such shared receive queue");
	reply->attributes = (struct rnic_srq_attributes){
		.max_wr = srq->srq->max_wr,
		.max_sge = srq->srq->max_sge,
		.limit = srq->srq->limit,
	};
	return 0;
}

int ctl_destroy_srq(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct session_srq *srq = handle_table_get(&call->session->srqs, request->handle);

	if (srq == NULL)
		return ctl_refuse(call, -EINVAL, "no such shared receive queue");
	if (srq->srq->references != 0)
		return ctl_refuse(call, -EBUSY, "%u queue pairs still use this receive queue",
				  srq->srq->references);
	session_free_srq(call->session, srq);
	return 0;
}
