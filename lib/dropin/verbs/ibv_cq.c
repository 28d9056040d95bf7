/* SPDX-License-Identifier: MIT */
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>
#include <stdlib.h>

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct rnic_verbs_channel *channel = calloc(1, sizeof(*channel));
	int error;

	if (channel == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_create_channel(rnic_verbs_native(context), &channel->native);
	if (error != 0) {
		free(channel);
		return rnic_verbs_null(-error);
	}
	channel->channel.context = context;
	channel->made = rnic_verbs_made(context, 0);
	channel->channel.fd = rnic_channel_fd(channel->native);
	return &channel->channel;
}

/*
 * `refcnt` is public, so the library keeps it: the number of completion queues that use the
 * channel.
 */
static void channel_count(struct ibv_comp_channel *channel, int change)
{
	struct ibv_context *context;

	if (channel == NULL)
		return;
	context = rnic_verbs_channel(channel)->made.context;
	pthread_mutex_lock(&context->mutex);
	channel->refcnt += change;
	pthread_mutex_unlock(&context->mutex);
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct rnic_verbs_channel *channel = rnic_verbs_channel(ibv);
	int error = rnic_verbs_check_channel(ibv);
	int users;

	if (error != 0)
		return rnic_verbs_errno(error);
	pthread_mutex_lock(&ibv->context->mutex);
	users = ibv->refcnt;
	pthread_mutex_unlock(&ibv->context->mutex);
	error = users == 0 ? rnic_destroy_channel(channel->native) : -EBUSY;
	if (error == 0)
		free(channel);
	return rnic_verbs_errno(error);
}

struct ibv_cq *rnic_verbs_create_cq(struct ibv_context *context, int entries, void *cq_context,
				    struct ibv_comp_channel *channel, int completion_vector,
				    uint32_t flags)
{
	struct rnic_verbs_cq *cq;
	int error = channel == NULL ? 0 : rnic_verbs_check_channel(channel);

	if (error != 0)
		return rnic_verbs_null(-error);
	if (entries <= 0 || completion_vector < 0)
		return rnic_verbs_null(EINVAL);
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return rnic_verbs_null(ENOMEM);
	rnic_verbs_fill_unsupported_cq(cq);
	cq->cq.context = context;
	cq->made = rnic_verbs_made(context, 0);
	cq->cq.channel = channel;
	cq->cq.cq_context = cq_context;
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	error = rnic_create_cq(rnic_verbs_native(context), (uint32_t)entries,
			       channel == NULL ? NULL : rnic_verbs_channel(channel)->native,
			       (uint32_t)completion_vector, flags, cq, &cq->native);
	if (error != 0) {
		free(cq);
		return rnic_verbs_null(-error);
	}
	cq->cq.cqe = (int)rnic_cq_entries(cq->native);
	channel_count(channel, 1);
	return &cq->cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
			     struct ibv_comp_channel *channel, int completion_vector)
{
	return rnic_verbs_create_cq(context, entries, cq_context, channel, completion_vector, 0);
}

int ibv_resize_cq(struct ibv_cq *ibv, int entries)
{
	struct rnic_verbs_cq *cq = rnic_verbs_cq(ibv);
	int error = entries > 0 ? rnic_verbs_check_cq(ibv) : -EINVAL;

	if (error == 0)
		error = rnic_resize_cq(cq->native, (uint32_t)entries);
	if (error == 0)
		ibv->cqe = (int)rnic_cq_entries(cq->native);
	return rnic_verbs_errno(error);
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct rnic_verbs_cq *cq = rnic_verbs_cq(ibv);
	struct ibv_comp_channel *channel = ibv->channel;
	int error = rnic_verbs_check_cq(ibv);

	if (error == 0)
		error = rnic_destroy_cq(cq->native);
	if (error != 0)
		return rnic_verbs_errno(error);
	channel_count(channel, -1);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	free(cq);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ibv, void **cq_context)
{
	struct rnic_cq *native;
	struct rnic_verbs_cq *cq;
	int error = rnic_verbs_check_channel(channel);

	if (error == 0)
		error = rnic_get_cq_event(rnic_verbs_channel(channel)->native, &native);
	if (error != 0)
		return rnic_verbs_minus_one(error);
	cq = rnic_cq_user(native);
	*ibv = &cq->cq;
	*cq_context = cq->cq.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
	rnic_ack_cq_events(rnic_verbs_cq(cq)->native, count);
}
