/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/object_requests.h"

#include "daemon/device/objects/ctl_region.h"
#include "daemon/device/objects/session_objects.h"
#include "daemon/device/queues/cqe_delivery.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "daemon/shared/served_peer/ctl_channel.h"
#include "proto/shm/cqe.h"
#include "proto/shm/ring.h"

#include <errno.h>
#include <stdlib.h>

static int cq_open_channel(void *object, int *client_fd)
{
	struct session_channel *channel = object;

	return event_pipe_open(&channel->pipe, client_fd);
}

static void cq_close_channel(void *object)
{
	struct session_channel *channel = object;

	event_pipe_close(&channel->pipe);
}

int ctl_create_channel(struct ctl_call *call)
{
	struct rnic_ctl_channel_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct session_channel *channel = calloc(1, sizeof(*channel));
	int result;

	if (channel == NULL)
		return -ENOMEM;
	result = ctl_channel_open(call, &(struct ctl_channel){
						.account = session->account,
						.resource = RESOURCE_CHANNEL,
						.table = &session->channels,
						.object = channel,
						.open = cq_open_channel,
						.close = cq_close_channel,
						.handle = &channel->handle,
						.plural = "completion channels",
					});
	if (result != 0) {
		free(channel);
		return result;
	}
	reply->channel = channel->handle;
	return 0;
}

int ctl_destroy_channel(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct session_channel *channel =
		handle_table_get(&call->session->channels, request->handle);

	if (channel == NULL)
		return ctl_refuse(call, -EINVAL, "no such completion channel");
	if (channel->references != 0)
		return ctl_refuse(call, -EBUSY, "%u completion queues still use this channel",
				  channel->references);
	session_free_channel(call->session, channel);
	return 0;
}

/* Makes a region with room for `entries` CQEs, and charges the client. */
static int cq_open_region(struct ctl_call *call, uint32_t entries, uint32_t flags,
			  struct shared_region *region, uint32_t *slots)
{
	struct session *session = call->session;
	uint32_t wanted;
	int result;

	if (entries == 0 || entries > session->set->facts->device.max_cqe)
		return ctl_refuse(call, -EINVAL, "a completion queue has 1 to %u entries",
				  session->set->facts->device.max_cqe);
	wanted = rnic_cq_slots(entries);
	result = ctl_region_open(call, region, RNIC_REGION_CQ, rnic_cq_region_bytes(wanted, flags));
	if (result != 0)
		return result;
	call->reply_fd_count = 1;
	*slots = wanted;
	return 0;
}

/* Makes `region`, which has `slots` slots, the region of the CQ. */
static void cq_use_region(struct session_cq *cq, const struct shared_region *region, uint32_t slots)
{
	cq->region = *region;
	cq->slots = slots;
	cq->entries = rnic_cq_entries_of(region->address);
	cq->times_ns = rnic_cq_times_of(region->address, slots, cq->flags);
}

int ctl_create_cq(struct ctl_call *call)
{
	const struct rnic_ctl_create_cq *request = (const void *)call->request.payload;
	struct rnic_ctl_cq_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct session_channel *channel = handle_table_get(&session->channels, request->channel);
	struct shared_region region;
	struct session_cq *cq;
	uint32_t slots = 0;
	int result;

	if (channel == NULL && !rnic_handle_is_none(request->channel))
		return ctl_refuse(call, -EINVAL, "no such completion channel");
	if (request->completion_vector >= session->set->facts->device.completion_vectors)
		return ctl_refuse(call, -EINVAL, "there is no completion vector %u",
				  request->completion_vector);
	if ((request->flags & ~(uint32_t)RNIC_CQ_TIMESTAMPS) != 0 || request->reserved != 0)
		return ctl_refuse(call, -EINVAL, "a completion queue has no flags %#x",
				  request->flags);
	result = quota_charge(session->account, RESOURCE_CQ, 1);
	if (result != 0)
		return ctl_refuse(call, result, "no more completion queues are to be had");
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL) {
		result = -ENOMEM;
		goto discharge;
	}
	result = handle_table_add(&session->cqs, cq, &cq->handle);
	if (result != 0)
		goto free_cq;
	result = cq_open_region(call, request->entries, request->flags, &region, &slots);
	if (result != 0)
		goto remove_handle;

	cq->flags = request->flags;
	cq_use_region(cq, &region, slots);
	cq->cq.user = cq;
	cq->session = session;
	cq->channel = channel;
	if (channel != NULL)
		channel->references++;
	cq->event.slot = cq->async.slot = cq->handle.slot;
	cq->event.generation = cq->async.generation = cq->handle.generation;
	*reply = (struct rnic_ctl_cq_reply){cq->handle, cq->slots, cq->slots};
	return 0;

remove_handle:
	handle_table_remove(&session->cqs, cq->handle);
free_cq:
	free(cq);
discharge:
	quota_discharge(session->account, RESOURCE_CQ, 1);
	return result;
}

/* Moves the unpolled CQEs to a ring of another size, the oldest one to slot 0. */
static void cq_move_entries(const struct session_cq *from, struct session_cq *to)
{
	struct rnic_cq_region *head = to->region.address;

	cqe_delivery_set_slot_zero(to, from->consumer);
	for (uint32_t i = from->consumer; i != from->producer; i++) {
		const uint32_t old_slot = rnic_ring_slot(i, from->slot_zero, from->slots);
		const uint32_t new_slot = rnic_ring_slot(i, to->slot_zero, to->slots);

		to->entries[new_slot] = from->entries[old_slot];
		if (to->times_ns != NULL)
			to->times_ns[new_slot] = from->times_ns[old_slot];
	}
	rnic_word_publish(&head->producer, to->producer);
}

int ctl_resize_cq(struct ctl_call *call)
{
	const struct rnic_ctl_resize_cq *request = (const void *)call->request.payload;
	struct rnic_ctl_cq_reply *reply = (void *)call->reply.payload;
	struct session *session = call->session;
	struct session_cq *cq = handle_table_get(&session->cqs, request->cq);
	struct shared_region region;
	struct session_cq old;
	uint32_t slots = 0;
	int64_t used;
	int result;

	if (cq == NULL)
		return ctl_refuse(call, -EINVAL, "no such completion queue");
	used = cqe_delivery_used(cq);
	if (used < 0)
		return -EPROTO;
	if (request->entries < used)
		return ctl_refuse(call, -EINVAL, "the completion queue holds %u entries",
				  (uint32_t)used);
	if (used > LIMIT_RESIZE_CQ_ENTRIES)
		return ctl_refuse(call, -EBUSY,
				  "%u completions wait in the queue; resize it when at most %u do",
				  (uint32_t)used, LIMIT_RESIZE_CQ_ENTRIES);
	result = cq_open_region(call, request->entries, cq->flags, &region, &slots);
	if (result != 0)
		return result;
	old = *cq;
	cq_use_region(cq, &region, slots);
	cq_move_entries(&old, cq);
	session_close_shared(session, &old.region);
	*reply = (struct rnic_ctl_cq_reply){cq->handle, slots, slots};
	return 0;
}

int ctl_destroy_cq(struct ctl_call *call)
{
	const struct rnic_ctl_object *request = (const void *)call->request.payload;
	struct session_cq *cq = handle_table_get(&call->session->cqs, request->handle);

	if (cq == NULL)
		return ctl_refuse(call, -EINVAL, "no such completion queue");
	if (cq->cq.references != 0)
		return ctl_refuse(call, -EBUSY, "%u queue pairs still use this completion queue",
				  cq->cq.references);
	session_free_cq(call->session, cq);
	return 0;
}
