/* SPDX-License-Identifier: MIT */
/* Completion queues and their channels: everything but polling, which is in rnic_poll.c. */
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"
#include "proto/shm/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int rnic_create_channel(struct rnic_context *context, struct rnic_channel **created)
{
	RNIC_REFUSE_NULL(context, created);
	struct rnic_ctl_channel_reply reply;
	struct rnic_call call = RNIC_CALL_TO_ASK(RNIC_CTL_CREATE_CHANNEL, reply);
	struct rnic_channel *channel;
	int fd, error;

	call.reply_fds = &fd;
	call.reply_fd_count = 1;
	channel = rnic_object_create(context, &call, sizeof(*channel), &error);
	if (channel == NULL)
		return error;
	*channel = (struct rnic_channel){.context = context, .handle = reply.channel, .fd = fd};
	*created = channel;
	return 0;
}

int rnic_destroy_channel(struct rnic_channel *channel)
{
	RNIC_REFUSE_NULL(channel);
	const int fd = channel->fd;
	int error = rnic_object_destroy(channel->context, RNIC_CTL_DESTROY_CHANNEL, channel->handle,
					channel);

	if (error == 0)
		close(fd);
	return error;
}

int rnic_channel_fd(const struct rnic_channel *channel)
{
	RNIC_REFUSE_NULL(channel);
	return channel->fd;
}

/* Maps the region that a reply brought and makes it the queue's. */
static int adopt_region(struct rnic_cq *cq, const struct rnic_ctl_cq_reply *reply, int fd)
{
	void *region;
	int error;

	if (reply->entries == 0 || reply->entries > RNIC_CQ_ENTRIES_MAX ||
	    reply->slots != rnic_cq_slots(reply->entries))
		return -EIO;
	error = rnic_region_map(fd, RNIC_REGION_CQ, rnic_cq_region_bytes(reply->slots, cq->flags),
				&region);
	if (error != 0)
		return error;
	if (cq->region != NULL)
		rnic_region_unmap(cq->region, rnic_cq_region_bytes(cq->slots, cq->flags));
	cq->region = region;
	cq->entries = rnic_cq_entries_of(region);
	cq->times_ns = rnic_cq_times_of(region, reply->slots, cq->flags);
	cq->slots = reply->slots;
	cq->entry_count = reply->entries;
	return 0;
}

static int request_cq(struct rnic_cq *cq, uint32_t entries, uint32_t completion_vector)
{
	const struct rnic_ctl_create_cq request = {
		.entries = entries,
		.completion_vector = completion_vector,
		.channel = cq->channel == NULL ? (struct rnic_handle){0} : cq->channel->handle,
		.flags = cq->flags,
	};
	struct rnic_ctl_cq_reply reply;
	int fd;
	int error = rnic_link_call_for_fd(&cq->context->device,
					  RNIC_CALL(RNIC_CTL_CREATE_CQ, request, reply), &fd);

	if (error != 0)
		return error;
	cq->handle = reply.cq;
	error = reply.cq.slot < RNIC_SESSION_CQS_MAX ? adopt_region(cq, &reply, fd) : -EIO;
	close(fd);
	if (error != 0)
		rnic_link_drop_object(&cq->context->device, RNIC_CTL_DESTROY_CQ, reply.cq);
	return error;
}

int rnic_create_cq(struct rnic_context *context, uint32_t entries, struct rnic_channel *channel,
		   uint32_t completion_vector, uint32_t flags, void *user, struct rnic_cq **created)
{
	RNIC_REFUSE_NULL(context, created);
	struct rnic_cq *cq;
	int error;

	if (entries == 0 || entries > context->attributes.max_cqe ||
	    completion_vector >= context->attributes.completion_vectors)
		return -EINVAL;
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return -ENOMEM;
	cq->context = context;
	cq->channel = channel;
	cq->flags = flags;
	cq->user = user;
	rnic_spinlock_init(&cq->lock);

	/* An event may name the slot as soon as it exists, so nobody looks it up before it is
	 * filled. */
	pthread_mutex_lock(&context->objects_lock);
	error = request_cq(cq, entries, completion_vector);
	if (error == 0) {
		cq->control = &context->session->cqs[cq->handle.slot];
		atomic_store(&cq->control->consumer, 0);
		atomic_store(&cq->control->armed, RNIC_CQ_UNARMED);
		context->cqs[cq->handle.slot] = cq;
	}
	pthread_mutex_unlock(&context->objects_lock);
	if (error != 0) {
		free(cq);
		return error;
	}
	rnic_context_hold(context);
	*created = cq;
	return 0;
}

int rnic_resize_cq(struct rnic_cq *cq, uint32_t entries)
{
	RNIC_REFUSE_NULL(cq);
	const struct rnic_ctl_resize_cq request = {.cq = cq->handle, .entries = entries};
	struct rnic_ctl_cq_reply reply;
	int fd;
	int error;

	if (entries == 0 || entries > cq->context->attributes.max_cqe)
		return -EINVAL;
	rnic_spinlock_lock(&cq->lock);
	error = rnic_link_call_for_fd(&cq->context->device,
				      RNIC_CALL(RNIC_CTL_RESIZE_CQ, request, reply), &fd);
	if (error == 0) {
		error = adopt_region(cq, &reply, fd);
		close(fd);
		/*
		 * The daemon writes to a region that this side cannot see: completions would be
		 * lost.
		 */
		if (error != 0)
			rnic_link_lose(&cq->context->device, -EIO);
	}
	rnic_spinlock_unlock(&cq->lock);
	return error;
}

int rnic_destroy_cq(struct rnic_cq *cq)
{
	RNIC_REFUSE_NULL(cq);
	struct rnic_context *context = cq->context;
	int error = -EBUSY;

	/*
	 * The call and the emptying of the slot are one step: the daemon may give the slot to the
	 * next queue at once.
	 */
	pthread_mutex_lock(&context->objects_lock);
	if (cq->references == 0)
		error = rnic_link_call_object(&context->device, RNIC_CTL_DESTROY_CQ, cq->handle);
	if (cq->references != 0 || (error != 0 && rnic_context_lost(context) == 0)) {
		pthread_mutex_unlock(&context->objects_lock);
		return error;
	}
	context->cqs[cq->handle.slot] = NULL;
	rnic_event_count_wait(context, &cq->completion_events);
	rnic_event_count_wait(context, &cq->async_events);
	pthread_mutex_unlock(&context->objects_lock);
	rnic_region_unmap(cq->region, rnic_cq_region_bytes(cq->slots, cq->flags));
	rnic_context_release(context);
	free(cq);
	return 0;
}

uint32_t rnic_cq_entries(const struct rnic_cq *cq)
{
	return cq != NULL ? cq->entry_count : 0;
}

void *rnic_cq_user(const struct rnic_cq *cq)
{
	return cq != NULL ? cq->user : NULL;
}

int rnic_req_notify_cq(struct rnic_cq *cq, bool solicited_only)
{
	RNIC_REFUSE_NULL(cq);
	uint32_t unarmed = RNIC_CQ_UNARMED;
	int error = rnic_context_lost(cq->context);

	if (error != 0)
		return error;
	if (cq->channel == NULL)
		return -EINVAL;
	/*
	 * A caller that is about to sleep polls once more before that; nothing must slow that poll
	 * down.
	 */
	rnic_poll_begin_anew();
	/*
	 * Armed for any entry covers solicited ones, so this side never weakens it. The daemon
	 * publishes an entry and then takes `armed`; this side arms and then polls. Both exchange,
	 * so one of them sees the other.
	 */
	if (solicited_only)
		atomic_compare_exchange_strong(&cq->control->armed, &unarmed,
					       RNIC_CQ_ARMED_SOLICITED);
	else
		atomic_exchange(&cq->control->armed, RNIC_CQ_ARMED_ANY);
	return 0;
}
