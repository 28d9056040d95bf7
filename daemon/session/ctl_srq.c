/* SPDX-License-Identifier: MIT */
#include "session/ctl_handlers.h"

#include "engine/srq.h"
#include "session/session.h"
#include "session/session_set.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* What is asked for is granted as it is, but for one SGE at least. The limit is armed later. */
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

/* Charges and makes the region of the ring. */
static int srq_open_region(struct ctl_call *call, const struct rnic_srq_attributes *granted,
			   struct session_srq *srq)
{
	struct rnic_queues_plan plan;
	int result = rnic_srq_plan(granted, &plan);

	if (result != 0)
		return ctl_refuse(call, result, "the queue would be too large");
	srq->recv = (struct receive_ring){
		.session = call->session,
		.region = &srq->region,
		.plan = plan.recv,
		.sge_max = granted->max_sge,
	};
	result = shared_region_create(&srq->region, RNIC_REGION_QUEUES, plan.region_bytes,
				      &call->reply_fds[0]);
	if (result != 0)
		return result;
	result = session_charge(call->session, RESOURCE_SHARED_BYTES, srq->region.bytes);
	if (result != 0) {
		close(call->reply_fds[0]);
		shared_region_close(&srq->region);
		return ctl_refuse(call, result, "no more memory for queues is to be had");
	}
	return 0;
}

/* What an SRQ refers to. */
struct srq_objects {
	struct session_pd *pd;
	struct session_xrcd *xrcd; /* with `cq`, or both NULL */
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
	int result = handle_table_add(&session->srqs, srq, &srq->handle);

	if (result != 0)
		return result;
	result = srq_open_region(call, granted, srq);
	if (result != 0)
		goto remove_handle;
	result = srq_open_engine(srq, objects, granted);
	if (result != 0)
		goto close_region;
	srq->async.slot = srq->handle.slot;
	srq->async.generation = srq->handle.generation;
	call->reply_fd_count = 1;
	return 0;

close_region:
	session_discharge(session, RESOURCE_SHARED_BYTES, srq->region.bytes);
	close(call->reply_fds[0]);
	shared_region_close(&srq->region);
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
	result = session_charge(session, RESOURCE_SRQ, 1);
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
	session_discharge(session, RESOURCE_SRQ, 1);
	return result;
}

int ctl_modify_srq(struct ctl_call *call)
{
	const struct rnic_ctl_modify_srq *request = (const void *)call->request.payload;
	struct session_srq *srq = handle_table_get(&call->session->srqs, request->srq);

	if (srq == NULL)
		return ctl_refuse(call, -EINVAL, "no such shared receive queue");
	if ((request->mask & RNIC_SRQ_ATTR_MAX_WR) != 0)
		return ctl_refuse(call, -EOPNOTSUPP, "shared receive queues keep their size");
	if ((request->mask & ~(uint32_t)RNIC_SRQ_ATTR_LIMIT) != 0)
		return ctl_refuse(call, -EINVAL, "there are no attributes %#x", request->mask);
	if ((request->mask & RNIC_SRQ_ATTR_LIMIT) == 0)
		return 0;
	if (srq_set_limit(srq->srq, request->attributes.limit) != 0)
		return ctl_refuse(call, -EINVAL, "the limit is larger than the queue");
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
