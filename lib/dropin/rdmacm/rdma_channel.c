/* SPDX-License-Identifier: MIT */
/* Event channels: their life, the identifiers that report there, and acknowledged events. */
#include "lib/dropin/rdmacm/rdma_sources.h"

#include <errno.h>
#include <stdlib.h>

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rnic_cma_channel *channel = calloc(1, sizeof(*channel));
	int error;

	if (channel == NULL)
		return NULL;
	error = rnic_cma_sources_open(channel);
	if (error != 0) {
		free(channel);
		errno = -error;
		return NULL;
	}
	atomic_init(&channel->references, 1);
	pthread_mutex_init(&channel->lock, NULL);
	pthread_cond_init(&channel->changed, NULL);
	return &channel->public;
}

void rnic_cma_channel_hold(struct rnic_cma_channel *channel)
{
	atomic_fetch_add(&channel->references, 1);
}

void rnic_cma_channel_release(void *held)
{
	struct rnic_cma_channel *channel = held;

	if (atomic_fetch_sub(&channel->references, 1) > 1)
		return;
	rnic_cma_sources_close(channel);
	pthread_cond_destroy(&channel->changed);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
}

/*
 * Events that nobody took go with the channel. A program should have destroyed all identifiers. It
 * may destroy those that are left later, but they end here, as they do when the kernel closes a
 * channel.
 */
void rdma_destroy_event_channel(struct rdma_event_channel *public)
{
	struct rnic_cma_channel *channel = rnic_cma_channel(public);

	atomic_store(&channel->is_destroyed, true);
	pthread_mutex_lock(&channel->lock);
	for (struct rnic_cma_id *id = channel->ids; id != NULL; id = id->next)
		rnic_cma_end(id);
	pthread_mutex_unlock(&channel->lock);
	rnic_cma_channel_release(channel);
}

void rnic_cma_channel_enter(struct rnic_cma_id *id)
{
	struct rnic_cma_channel *channel = rnic_cma_channel(id->public.channel);

	rnic_cma_channel_hold(channel);
	pthread_mutex_lock(&channel->lock);
	id->next = channel->ids;
	channel->ids = id;
	pthread_mutex_unlock(&channel->lock);
}

static void rdmacm_channel_unlock(void *lock)
{
	pthread_mutex_unlock(lock);
}

/* A thread that is cancelled while the application keeps the event gives up the lock. */
static void await_acknowledgement(struct rnic_cma_channel *channel, const struct rnic_cma_id *id)
{
	pthread_cleanup_push(rdmacm_channel_unlock, &channel->lock);
	while (id->is_removal_open)
		pthread_cond_wait(&channel->changed, &channel->lock);
	pthread_cleanup_pop(false);
}

void rnic_cma_channel_leave(struct rnic_cma_id *id)
{
	struct rnic_cma_channel *channel = rnic_cma_channel(id->public.channel);

	pthread_mutex_lock(&channel->lock);
	await_acknowledgement(channel, id);
	for (struct rnic_cma_id **link = &channel->ids; *link != NULL; link = &(*link)->next) {
		if (*link == id) {
			*link = id->next;
			break;
		}
	}
	pthread_mutex_unlock(&channel->lock);
	rnic_cma_channel_release(channel);
}

/* --- acknowledged events --------------------------------------------------------------------- */

static void acknowledge_removal(struct rnic_cma_id *id)
{
	struct rnic_cma_channel *channel = rnic_cma_channel(id->public.channel);

	pthread_mutex_lock(&channel->lock);
	id->is_removal_open = false;
	pthread_cond_broadcast(&channel->changed);
	pthread_mutex_unlock(&channel->lock);
}

int rdma_ack_cm_event(struct rdma_cm_event *public)
{
	struct rnic_cma_event *event = (struct rnic_cma_event *)public;

	if (public == NULL)
		return rnic_cma_result(-EINVAL);
	if (event->is_native)
		rnic_native.cm_ack_event(&event->native);
	else
		acknowledge_removal(rnic_cma_id(public->id));
	free(event);
	return 0;
}
