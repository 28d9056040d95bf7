/* SPDX-License-Identifier: MIT */
/* Channels of the connection manager, and the events that wait behind them. */
#include "native/rnic_cm_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

int rnic_cm_create_channel(struct rnic_context *context, struct rnic_cm_channel **created)
{
	struct rnic_ctl_cm_channel_reply reply;
	struct rnic_call call = RNIC_CALL_TO_ASK(RNIC_CTL_CM_CREATE_CHANNEL, reply);
	struct rnic_cm_channel *channel;
	int fd, error;

	call.reply_fds = &fd;
	call.reply_fd_count = 1;
	channel = rnic_object_create(context, &call, sizeof(*channel), &error);
	if (channel == NULL)
		return error;
	*channel = (struct rnic_cm_channel){
		.context = context,
		.handle = reply.channel,
		.fd = fd,
		.references = 1,
	};
	pthread_mutex_init(&channel->fetching, NULL);
	*created = channel;
	return 0;
}

void rnic_cm_channel_hold(struct rnic_cm_channel *channel)
{
	pthread_mutex_lock(&channel->context->objects_lock);
	channel->references++;
	pthread_mutex_unlock(&channel->context->objects_lock);
}

void rnic_cm_channel_release(struct rnic_cm_channel *channel)
{
	struct rnic_context *context = channel->context;
	bool is_last;

	pthread_mutex_lock(&context->objects_lock);
	is_last = --channel->references == 0;
	pthread_mutex_unlock(&context->objects_lock);
	if (!is_last)
		return;
	close(channel->fd); /* while a thread reads there, no other file must get the number */
	pthread_mutex_destroy(&channel->fetching);
	rnic_context_release(context);
	free(channel);
}

static void mark_destroyed(struct rnic_cm_channel *channel, bool is_destroyed)
{
	pthread_mutex_lock(&channel->context->objects_lock);
	channel->is_destroyed = is_destroyed;
	pthread_mutex_unlock(&channel->context->objects_lock);
}

static bool was_destroyed(struct rnic_cm_channel *channel)
{
	bool is_destroyed;

	pthread_mutex_lock(&channel->context->objects_lock);
	is_destroyed = channel->is_destroyed;
	pthread_mutex_unlock(&channel->context->objects_lock);
	return is_destroyed;
}

int rnic_cm_destroy_channel(struct rnic_cm_channel *channel)
{
	int error;

	mark_destroyed(channel, true);
	error = rnic_link_call_object(&channel->context->link, RNIC_CTL_CM_DESTROY_CHANNEL,
				      channel->handle);
	if (error != 0 && rnic_context_lost(channel->context) == 0) {
		mark_destroyed(channel, false);
		return error;
	}
	rnic_cm_channel_release(channel);
	return 0;
}

int rnic_cm_channel_fd(const struct rnic_cm_channel *channel)
{
	return channel->fd;
}

/*
 * Takes the record that a destroyed identifier or event may have left. Another thread may take the
 * record first, and the application decides whether reading blocks, so neither read() nor a look
 * before it will do.
 */
void rnic_cm_channel_settle(struct rnic_cm_channel *channel)
{
	struct rnic_event_record stale;
	const struct iovec part = {.iov_base = &stale, .iov_len = sizeof(stale)};

	if (!was_destroyed(channel) &&
	    vmsplice(channel->fd, &part, 1, SPLICE_F_NONBLOCK) == sizeof(stale))
		rnic_link_call_object(&channel->context->link, RNIC_CTL_CM_RAISE, channel->handle);
}

/* Under objects_lock. NULL when there is no such identifier, or no longer. */
static struct rnic_cm_id *find_id(const struct rnic_context *context, struct rnic_handle handle)
{
	struct rnic_cm_id *id;

	if (context->cm_ids == NULL || handle.slot >= RNIC_CM_IDS_MAX)
		return NULL;
	id = context->cm_ids[handle.slot];
	return id != NULL && id->handle.generation == handle.generation ? id : NULL;
}

/*
 * Finds the identifier that the event is about and counts the event. -ESTALE: another thread has
 * destroyed the identifier meanwhile.
 */
static int cm_events_deliver(struct rnic_context *context,
			     const struct rnic_ctl_cm_event_reply *reply,
			     struct rnic_cm_event *event)
{
	const bool is_request = reply->type == RNIC_CM_CONNECT_REQUEST;
	struct rnic_cm_id *reporting;

	pthread_mutex_lock(&context->objects_lock);
	reporting = find_id(context, is_request ? reply->listener : reply->id);
	if (reporting != NULL)
		reporting->events.delivered++;
	pthread_mutex_unlock(&context->objects_lock);
	if (reporting == NULL)
		return -ESTALE;
	*event = (struct rnic_cm_event){
		.type = reply->type,
		.status = reply->status,
		.id = is_request ? NULL : reporting,
		.listener = is_request ? reporting : NULL,
		.local = reply->local,
		.peer = reply->peer,
		.path = reply->path,
		.path_mtu = reply->path_mtu,
		.port_space = reply->port_space,
		.parameters = reply->parameters,
	};
	return 0;
}

static int fetch(struct rnic_cm_channel *channel, struct rnic_cm_event *event)
{
	struct rnic_context *context = channel->context;
	const struct rnic_ctl_object request = {channel->handle};
	struct rnic_ctl_cm_event_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_CM_GET_EVENT, request, reply);
	struct rnic_cm_event fetched;
	int error = rnic_link_call(&context->link, &call);

	if (error != 0)
		return error;
	if (reply.type >= RNIC_CM_EVENT_COUNT)
		return -EIO;
	error = cm_events_deliver(context, &reply, &fetched);
	if (error == 0 && reply.type == RNIC_CM_CONNECT_REQUEST) {
		error = rnic_cm_adopt_id(channel, reply.id, NULL, &fetched.id);
		if (error != 0)
			rnic_cm_ack_event(&fetched);
	}
	if (error != 0 && reply.type == RNIC_CM_CONNECT_REQUEST)
		rnic_link_call_object(&context->link, RNIC_CTL_CM_DESTROY_ID, reply.id);
	if (error == 0)
		*event = fetched;
	return error;
}

/*
 * Programs destroy a channel while another thread still waits there, and then exit. With a kernel's
 * channel the thread goes on waiting; a thread that came back with an error would end the program
 * badly.
 */
static void wait_for_end_of_process(void)
{
	for (;;)
		pause();
}

static int cm_events_get_event(struct rnic_cm_channel *channel, struct rnic_cm_event *event)
{
	struct rnic_event_record right_to_fetch;
	int error;

	for (;;) {
		error = rnic_context_lost(channel->context);
		if (error == 0)
			error = rnic_event_record_take(channel->fd, &right_to_fetch);
		if (error != 0 && error != -EAGAIN && was_destroyed(channel))
			wait_for_end_of_process();
		if (error == -EPIPE || error == -EIO)
			error = rnic_event_pipe_lost(channel->context, error);
		if (error != 0)
			return error;
		pthread_mutex_lock(&channel->fetching);
		error = fetch(channel, event);
		pthread_mutex_unlock(&channel->fetching);
		/* The event was destroyed, moved to another channel, or went with this one. */
		if (error == 0 || (error != -ESTALE && error != -EAGAIN && !was_destroyed(channel)))
			return error;
	}
}

static void cm_events_release(void *channel)
{
	rnic_cm_channel_release(channel);
}

/*
 * A thread may be cancelled while it waits; once it has taken an event, it gives the event to the
 * caller.
 */
int rnic_cm_get_event(struct rnic_cm_channel *channel, struct rnic_cm_event *event)
{
	int error;

	rnic_cm_channel_hold(channel);
	pthread_cleanup_push(cm_events_release, channel);
	error = cm_events_get_event(channel, event);
	pthread_cleanup_pop(true);
	return error;
}

void rnic_cm_ack_event(const struct rnic_cm_event *event)
{
	struct rnic_cm_id *reporting = event->listener != NULL ? event->listener : event->id;
	struct rnic_context *context = reporting->context;

	pthread_mutex_lock(&context->objects_lock);
	reporting->events.acknowledged++;
	pthread_cond_broadcast(&context->acknowledged);
	pthread_mutex_unlock(&context->objects_lock);
}
