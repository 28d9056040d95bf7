/* SPDX-License-Identifier: MIT */
/* Shared receive queues: everything but posting, which is in rnic_post.c. */
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Maps the ring that the daemon granted, or to which it has moved the entries. Then under the
 * queue's lock.
 */
static int srq_adopt_ring(struct rnic_srq *srq, const struct rnic_srq_attributes *granted, int fd)
{
	struct rnic_srq_plan plan;
	void *region;
	int error;

	if (rnic_srq_plan(granted, &plan) != 0)
		return -EIO;
	error = rnic_region_map(fd, RNIC_REGION_SRQ, plan.region_bytes, &region);
	if (error != 0)
		return error;
	rnic_region_unmap(srq->region, srq->region_bytes);
	srq->region = region;
	srq->region_bytes = plan.region_bytes;
	rnic_work_queue_place(&srq->recv, &plan.recv, region, region,
			      &srq->region->recv_producer.value, granted->max_wr);
	srq->recv.consumer = &srq->region->srq_consumer;
	return 0;
}

static int request_srq(struct rnic_srq *srq, const struct rnic_pd *pd,
		       struct rnic_srq_options *options)
{
	static const struct rnic_handle none;
	const struct rnic_ctl_create_srq request = {
		.pd = pd->handle,
		.xrcd = options->xrcd == NULL ? none : options->xrcd->handle,
		.cq = srq->cq == NULL ? none : srq->cq->handle,
		.wanted = {.max_wr = options->max_wr, .max_sge = options->max_sge},
	};
	struct rnic_ctl_create_srq_reply reply;
	int fd;
	int error = rnic_link_call_for_fd(&srq->context->device,
					  RNIC_CALL(RNIC_CTL_CREATE_SRQ, request, reply), &fd);

	if (error != 0)
		return error;
	srq->handle = reply.srq;
	srq->number = reply.number;
	rnic_work_queue_init(&srq->recv, reply.granted.max_sge);
	error = reply.srq.slot < RNIC_SESSION_SRQS_MAX ? srq_adopt_ring(srq, &reply.granted, fd)
						       : -EIO;
	close(fd);
	if (error != 0) {
		rnic_link_drop_object(&srq->context->device, RNIC_CTL_DESTROY_SRQ, reply.srq);
		return error;
	}
	options->max_wr = reply.granted.max_wr;
	options->max_sge = reply.granted.max_sge;
	return 0;
}

/* Enters the queue into its slot, or empties it, while nobody polls its completions. */
static void srq_set_slot(const struct rnic_srq *srq, struct rnic_srq *value)
{
	if (srq->cq != NULL)
		rnic_spinlock_lock(&srq->cq->lock);
	srq->context->srqs[srq->handle.slot] = value;
	if (srq->cq != NULL)
		rnic_spinlock_unlock(&srq->cq->lock);
}

/* Counts an XRC queue where it completes, or no longer. Under objects_lock. */
static void srq_count_references(struct rnic_srq *srq, int32_t change)
{
	if (srq->cq != NULL)
		srq->cq->references += (uint32_t)change;
}

int rnic_create_srq(struct rnic_pd *pd, struct rnic_srq_options *options, struct rnic_srq **created)
{
	RNIC_REFUSE_NULL(pd, options, created);
	struct rnic_context *context = pd->context;
	struct rnic_srq *srq;
	int error;

	if ((options->xrcd == NULL) != (options->cq == NULL))
		return -EINVAL;
	srq = calloc(1, sizeof(*srq));
	if (srq == NULL)
		return -ENOMEM;
	srq->context = context;
	srq->cq = options->cq;
	srq->user = options->user;
	/* As with queue pairs: an event may name the slot as soon as it exists. */
	pthread_mutex_lock(&context->objects_lock);
	error = request_srq(srq, pd, options);
	if (error == 0) {
		srq_count_references(srq, 1);
		srq_set_slot(srq, srq);
	}
	pthread_mutex_unlock(&context->objects_lock);
	if (error != 0) {
		free(srq);
		return error;
	}
	rnic_context_hold(context);
	*created = srq;
	return 0;
}

/* No thread posts meanwhile: an entry that is written to the old ring now would be lost. */
static int resize(struct rnic_srq *srq, const struct rnic_ctl_modify_srq *request)
{
	struct rnic_ctl_resize_srq_reply reply;
	int fd, error;

	rnic_spinlock_lock(&srq->recv.lock);
	error = rnic_link_call_for_fd(&srq->context->device,
				      RNIC_CALL(RNIC_CTL_RESIZE_SRQ, *request, reply), &fd);
	if (error == 0) {
		error = srq_adopt_ring(srq, &reply.granted, fd);
		close(fd);
		/*
		 * The daemon looks at a ring that this side cannot see, so nothing could be posted.
		 */
		if (error != 0)
			rnic_link_lose(&srq->context->device, -EIO);
	}
	rnic_spinlock_unlock(&srq->recv.lock);
	return error;
}

int rnic_modify_srq(struct rnic_srq *srq, const struct rnic_srq_attributes *attributes,
		    uint32_t mask)
{
	RNIC_REFUSE_NULL(srq, attributes);
	const struct rnic_ctl_modify_srq request = {
		.srq = srq->handle, .mask = mask, .attributes = *attributes};

	if ((mask & RNIC_SRQ_ATTR_MAX_WR) != 0)
		return resize(srq, &request);
	return rnic_link_tell(&srq->context->device, RNIC_CTL_MODIFY_SRQ, &request,
			      sizeof(request));
}

int rnic_query_srq(struct rnic_srq *srq, struct rnic_srq_attributes *attributes)
{
	RNIC_REFUSE_NULL(srq, attributes);
	const struct rnic_ctl_object request = {.handle = srq->handle};
	struct rnic_ctl_query_srq_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_QUERY_SRQ, request, reply);
	int error = rnic_link_call(&srq->context->device, &call);

	if (error == 0)
		*attributes = reply.attributes;
	return error;
}

int rnic_destroy_srq(struct rnic_srq *srq)
{
	RNIC_REFUSE_NULL(srq);
	struct rnic_context *context = srq->context;
	int error;

	pthread_mutex_lock(&context->objects_lock);
	error = rnic_link_call_object(&context->device, RNIC_CTL_DESTROY_SRQ, srq->handle);
	if (error != 0 && rnic_context_lost(context) == 0) {
		pthread_mutex_unlock(&context->objects_lock);
		return error;
	}
	srq_set_slot(srq, NULL);
	srq_count_references(srq, -1);
	rnic_event_count_wait(context, &srq->async_events);
	pthread_mutex_unlock(&context->objects_lock);
	rnic_region_unmap(srq->region, srq->region_bytes);
	rnic_context_release(context);
	free(srq);
	return 0;
}

uint32_t rnic_srq_number(const struct rnic_srq *srq)
{
	return srq != NULL ? srq->number : 0;
}

void *rnic_srq_user(const struct rnic_srq *srq)
{
	return srq != NULL ? srq->user : NULL;
}
