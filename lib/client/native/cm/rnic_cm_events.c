/* SPDX-License-Identifier: MIT */
/* Channels of the connection manager, and the events that wait behind them. */
#include "lib/client/native/drop_in_calls.h"
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/cm/rnic_cm_objects.h"
#include "lib/client/native/rnic_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int rnic_cm_create_channel(struct rnic_context *context, struct rnic_cm_channel **created)
{
	RNIC_REFUSE_NULL(context, created);
	struct rnic_ctl_cm_channel_reply reply;
	struct rnic_cm_channel *channel = malloc(sizeof(*channel));
	int fd, error;

	if (channel == NULL)
		return -ENOMEM;
	error = rnic_link_call_for_fd(&context->control,
				      RNIC_CALL_TO_ASK(RNIC_CTL_CM_CREATE_CHANNEL, reply), &fd);
	if (error != 0) {
		free(channel);
		return error;
	}
	rnic_context_hold(context);
	*channel = (struct rnic_cm_channel){
		.context = context,
		.handle = reply.channel,
		.fd = fd,
		.references = 1,
	};
	pthread_mutex_init(&channel->taking, NULL);
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
	pthread_mutex_destroy(&channel->taking);
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
	RNIC_REFUSE_NULL(channel);
	int cancellation, error;

	mark_destroyed(channel, true);
	error = rnic_link_call_object(&channel->context->control, RNIC_CTL_CM_DESTROY_CHANNEL,
				      channel->handle);
	if (error != 0 && rnic_context_lost(channel->context) == 0) {
		mark_destroyed(channel, false);
		rnic_cm_channel_stop(channel, &cancellation);
		rnic_cm_channel_go_on(channel, cancellation);
		return error;
	}
	rnic_cm_channel_release(channel);
	return 0;
}

int rnic_cm_channel_fd(const struct rnic_cm_channel *channel)
{
	RNIC_REFUSE_NULL(channel);
	return channel->fd;
}

/* Under objects_lock. The identifier that the event of the channel is about; NULL: the event is
 * void.
 */
static struct rnic_cm_id *find_reporting(const struct rnic_cm_channel *channel,
					 const struct rnic_ctl_cm_event *told)
{
	const bool is_request = told->type == RNIC_CM_CONNECT_REQUEST;
	struct rnic_cm_id *id =
		rnic_cm_find_id(channel->context, is_request ? told->listener : told->id);

	return id != NULL && id->channel == channel && id->moves == told->moves ? id : NULL;
}

/*
 * Finds the identifier that the event is about and counts the event. -ESTALE: another thread has
 * destroyed the identifier meanwhile, or moved the identifier to another channel.
 */
static int cm_events_deliver(struct rnic_cm_channel *channel, const struct rnic_ctl_cm_event *told,
			     struct rnic_cm_event *event)
{
	const bool is_request = told->type == RNIC_CM_CONNECT_REQUEST;
	struct rnic_context *context = channel->context;
	struct rnic_cm_id *reporting;

	pthread_mutex_lock(&context->objects_lock);
	reporting = find_reporting(channel, told);
	if (reporting != NULL)
		reporting->events.delivered++;
	pthread_mutex_unlock(&context->objects_lock);
	if (reporting == NULL)
		return -ESTALE;
	*event = (struct rnic_cm_event){
		.type = told->type,
		.status = told->status,
		.id = is_request ? NULL : reporting,
		.listener = is_request ? reporting : NULL,
		.local = told->local,
		.peer = told->peer,
		.path = told->path,
		.path_mtu = told->path_mtu,
		.port_space = told->port_space,
		.parameters = told->parameters,
	};
	return 0;
}

static void keep_attributes(struct rnic_cm_id *id, const struct rnic_ctl_cm_event *told)
{
	pthread_mutex_lock(&id->context->objects_lock);
	if (told->mask != 0 && !id->has_new_options) {
		id->attributes = told->attributes;
		id->attributes_mask = told->mask;
	}
	pthread_mutex_unlock(&id->context->objects_lock);
}

int rnic_cm_destroy_handle(struct rnic_cm_channel *channel, struct rnic_handle handle)
{
	const struct rnic_ctl_cm_destroy_id wanted = {.id = handle, .taken = channel->taken};

	return rnic_link_tell(&channel->context->control, RNIC_CTL_CM_DESTROY_ID, &wanted,
			      sizeof(wanted));
}

/* Under `taking`. Receives an event, or with MSG_PEEK only looks at the event. -EAGAIN: no event.
 */
static int receive(const struct rnic_cm_channel *channel, int flags, struct rnic_ctl_cm_event *told)
{
	const ssize_t bytes = recv(channel->fd, told, sizeof(*told), flags | MSG_DONTWAIT);

	if (bytes < 0)
		return -errno;
	if (bytes == 0)
		return -EPIPE;
	return bytes == sizeof(*told) && told->type < RNIC_CM_EVENT_COUNT ? 0 : -EIO;
}

/* Under `taking`. Asks for the events behind the last one that was under way, if that was taken. */
static int ask_for_more(struct rnic_cm_channel *channel)
{
	const struct rnic_ctl_cm_send_events wanted = {
		.channel = channel->handle,
		.taken = channel->taken,
	};
	int error = 0;

	if (channel->must_ask)
		error = rnic_link_tell(&channel->context->control, RNIC_CTL_CM_SEND_EVENTS, &wanted,
				       sizeof(wanted));
	if (error == 0)
		channel->must_ask = false;
	return error;
}

/* Under `taking`. An event whose request for more fails was taken all the same. */
static int receive_next(struct rnic_cm_channel *channel, struct rnic_ctl_cm_event *told)
{
	int error = receive(channel, 0, told);

	if (error == -EAGAIN)
		channel->may_have_void = false;
	if (error != 0)
		return error;
	channel->taken++;
	channel->took_back = false;
	channel->must_ask |= told->is_last != 0;
	ask_for_more(channel);
	return 0;
}

int rnic_cm_channel_find_first(struct rnic_cm_channel *channel, struct rnic_cm_id **reporting)
{
	struct rnic_ctl_cm_event told;
	int error = receive(channel, MSG_PEEK, &told);

	*reporting = NULL;
	if (error != 0)
		return error;
	pthread_mutex_lock(&channel->context->objects_lock);
	*reporting = find_reporting(channel, &told);
	pthread_mutex_unlock(&channel->context->objects_lock);
	return 0;
}

/* Under `taking`. Drops the void events before the first one that is not. */
static void drop_void(struct rnic_cm_channel *channel)
{
	struct rnic_cm_id *reporting;
	struct rnic_ctl_cm_event told;
	bool has_dropped = channel->took_back;
	int error;

	for (;;) {
		error = rnic_cm_channel_find_first(channel, &reporting);
		channel->may_have_void = error != -EAGAIN;
		channel->took_back = error == -EAGAIN && has_dropped;
		if (error != 0 || reporting != NULL || receive_next(channel, &told) != 0)
			return;
		has_dropped = true;
	}
}

void rnic_cm_channel_stop(struct rnic_cm_channel *channel, int *cancellation)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancellation);
	pthread_mutex_lock(&channel->taking);
}

static void let_go_on(struct rnic_cm_channel *channel, int cancellation)
{
	if (channel->may_have_void && !was_destroyed(channel) &&
	    rnic_context_lost(channel->context) == 0)
		drop_void(channel);
	pthread_mutex_unlock(&channel->taking);
	pthread_setcancelstate(cancellation, NULL);
}

void rnic_cm_channel_go_on(struct rnic_cm_channel *channel, int cancellation)
{
	channel->may_have_void = true;
	let_go_on(channel, cancellation);
}

/* Under `taking`. -EAGAIN: no event is there. -ESTALE: the event was void. */
static int take(struct rnic_cm_channel *channel, struct rnic_cm_event *event)
{
	struct rnic_ctl_cm_event told;
	struct rnic_cm_event taken;
	int error = ask_for_more(channel); /* once more, if nothing came */

	if (error == 0)
		error = receive_next(channel, &told);
	if (error == 0)
		error = cm_events_deliver(channel, &told, &taken);
	channel->took_back |= error == -ESTALE;
	if (error != 0)
		return error;
	if (told.type == RNIC_CM_CONNECT_REQUEST)
		error = rnic_cm_adopt_id(channel, told.id, NULL, &taken.id);
	if (error != 0) {
		rnic_cm_ack_event(&taken);
		rnic_cm_destroy_handle(channel, told.id);
		return error;
	}
	keep_attributes(taken.id, &told);
	*event = taken;
	return 0;
}

bool rnic_cm_took_back(struct rnic_cm_channel *channel)
{
	int cancellation;
	bool took_back;

	rnic_cm_channel_stop(channel, &cancellation);
	took_back = channel->took_back;
	channel->took_back = false;
	let_go_on(channel, cancellation);
	return took_back;
}

/*
 * Whether a thread that finds no event may sleep. A program that polls asks for an event only after
 * its channel was readable. When that event was taken back meanwhile, the thread must not sleep.
 */
static bool may_wait(struct rnic_cm_channel *channel)
{
	int cancellation;
	bool result;

	rnic_cm_channel_stop(channel, &cancellation);
	result = channel->has_waited || !channel->took_back;
	channel->has_waited |= result;
	channel->took_back = false;
	let_go_on(channel, cancellation);
	return result;
}

/*
 * Waits for an event, awake at first, unless the program has made the descriptor non-blocking. A
 * signal that comes while the thread is awake does not end the wait. The sleep is in recv(2):
 * behind a handler with SA_RESTART recv(2) continues, as a wait at the kernel's channel does, and
 * poll(2) does not.
 */
static int await_event(struct rnic_cm_channel *channel)
{
	struct pollfd event = {.fd = channel->fd, .events = POLLIN};
	uint8_t byte;

	if ((fcntl(channel->fd, F_GETFL) & O_NONBLOCK) != 0 || !may_wait(channel))
		return -EAGAIN;
	if (rnic_wait_awake(&event, 1) > 0)
		return 0;
	return recv(channel->fd, &byte, sizeof(byte), MSG_PEEK) < 0 ? -errno : 0;
}

void rnic_wait_for_end_of_process(void)
{
	for (;;)
		pause();
}

static void note_taker(struct rnic_cm_channel *channel)
{
	pthread_mutex_lock(&channel->context->objects_lock);
	channel->taker = gettid();
	pthread_mutex_unlock(&channel->context->objects_lock);
}

static int cm_events_get_event(struct rnic_cm_channel *channel, struct rnic_cm_event *event)
{
	int error, cancellation;

	note_taker(channel);
	for (;;) {
		error = rnic_context_lost(channel->context);
		if (error == 0) {
			rnic_cm_channel_stop(channel, &cancellation);
			error = take(channel, event);
			let_go_on(channel, cancellation);
		}
		if (error == 0)
			return 0;
		if (error == -EAGAIN)
			error = await_event(channel);
		if (error != 0 && error != -EAGAIN && was_destroyed(channel))
			rnic_wait_for_end_of_process();
		if (error == -EPIPE || error == -EIO)
			error = rnic_events_lost(channel->context, error);
		/* The event was destroyed, or moved to another channel. */
		if (error != 0 && error != -ESTALE)
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
	RNIC_REFUSE_NULL(channel, event);
	int error;

	rnic_cm_channel_hold(channel);
	pthread_cleanup_push(cm_events_release, channel);
	error = cm_events_get_event(channel, event);
	pthread_cleanup_pop(true);
	return error;
}

void rnic_cm_ack_event(const struct rnic_cm_event *event)
{
	if (event == NULL)
		return;
	struct rnic_cm_id *reporting = event->listener != NULL ? event->listener : event->id;
	struct rnic_context *context = reporting->context;

	pthread_mutex_lock(&context->objects_lock);
	reporting->events.acknowledged++;
	pthread_cond_broadcast(&context->acknowledged);
	pthread_mutex_unlock(&context->objects_lock);
}
