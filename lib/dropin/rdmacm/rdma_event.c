/* SPDX-License-Identifier: MIT */
/* From what the daemon reports to the events of librdmacm. */
#include "lib/dropin/rdmacm/rdma_sources.h"
#include "lib/dropin/rdmacm/rdma_translate.h"

#include <errno.h>
#include <stdlib.h>

/* Under the channel's lock. A device that the channel does not hear of was lost before. */
static bool is_source_lost(struct rnic_cma_channel *channel, const struct rnic_cma_device *device)
{
	const struct rnic_cma_source *source = rnic_cma_source_of(channel, device);

	return source == NULL || source->is_lost;
}

/*
 * Under the channel's lock. Whether all devices of the identifier are lost. One without an address
 * may still come to any device.
 */
static bool is_lost(struct rnic_cma_channel *channel, const struct rnic_cma_id *id)
{
	const struct rnic_cma_place *place;
	bool are_lost = true;

	if (!id->is_placed) {
		for (uint32_t i = 0; i < channel->source_count; i++)
			are_lost = are_lost && channel->sources[i].is_lost;
		return are_lost;
	}
	are_lost = is_source_lost(channel, id->device);
	for (place = id->elsewhere; place != NULL; place = place->next)
		are_lost = are_lost && is_source_lost(channel, place->device);
	return are_lost;
}

/* A daemon is gone: tells each identifier of its device once. -ENODEV when all were told. */
static int report_removal(struct rnic_cma_channel *channel, struct rnic_cma_source *source,
			  struct rnic_cma_event *event)
{
	struct rnic_cma_id *id;

	pthread_mutex_lock(&channel->lock);
	source->is_lost = true;
	for (id = channel->ids; id != NULL && (id->is_removal_told || !is_lost(channel, id));
	     id = id->next)
		;
	if (id != NULL)
		id->is_removal_told = id->is_removal_open = true;
	pthread_mutex_unlock(&channel->lock);
	if (id == NULL)
		return -ENODEV;
	event->is_native = false;
	event->public.id = &id->public;
	event->public.event = RDMA_CM_EVENT_DEVICE_REMOVAL;
	return 0;
}

static void take_parameters(struct rnic_cma_event *event)
{
	if (event->public.id->qp_type == IBV_QPT_UD)
		rnic_cma_ud_param(&event->native, &event->public.param.ud);
	else
		rnic_cma_conn_param(&event->native.parameters, &event->public.param.conn);
}

static void rdmacm_event_fail(struct rnic_cma_event *event, enum rdma_cm_event_type type, int error)
{
	event->public.event = type;
	event->public.status = error;
}

static void rdmacm_event_on_address_resolved(struct rnic_cma_event *event, struct rnic_cma_id *id)
{
	int error = rnic_cma_take_event_place(id, &event->native);

	if (error != 0)
		rdmacm_event_fail(event, RDMA_CM_EVENT_ADDR_ERROR, error);
}

static void rdmacm_event_on_connect_request(struct rnic_cma_event *event,
					    struct rnic_cma_id *listener)
{
	struct rnic_cma_id *id = rnic_native.cm_user(event->native.id);

	event->public.id = &id->public;
	event->public.listen_id = &listener->public;
	take_parameters(event);
}

/*
 * The peer may serve, and begin, fewer READs at a time than this side asked for (rdma_accept(3)).
 */
static void agree_on_depths(struct rnic_cma_id *id, const struct rnic_cm_parameters *answer)
{
	if (id->responder_resources > answer->responder_resources)
		id->responder_resources = answer->responder_resources;
	if (id->initiator_depth > answer->initiator_depth)
		id->initiator_depth = answer->initiator_depth;
}

/* An identifier with a queue pair finishes the connection; without one the application does. */
static void on_connect_response(struct rnic_cma_event *event, struct rnic_cma_id *id)
{
	int error;

	take_parameters(event);
	agree_on_depths(id, &event->native.parameters);
	if (id->public.qp == NULL)
		return;
	error = rnic_cma_qp_to_rts(id);
	if (error == 0)
		error = rnic_native.cm_establish(id->native);
	if (error == 0) {
		event->public.event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	rnic_native.cm_reject(id->native, 0, NULL, 0);
	id->has_failed = true;
	rnic_cma_qp_to_error(id);
	rdmacm_event_fail(event, RDMA_CM_EVENT_CONNECT_ERROR, error);
}

static void rdmacm_event_on_established(struct rnic_cma_event *event, struct rnic_cma_id *id)
{
	(void)id;
	take_parameters(event);
}

static void on_refused(struct rnic_cma_event *event, struct rnic_cma_id *id)
{
	take_parameters(event);
	id->has_failed = true;
	rnic_cma_qp_to_error(id);
}

/*
 * The queue pair stays in RTS until the program calls rdma_disconnect(), as it does with
 * librdmacm's (rdma_get_cm_event() in cma.c of rdma-core 65).
 */
static void rdmacm_event_on_disconnected(struct rnic_cma_event *event, struct rnic_cma_id *id)
{
	(void)event;
	if (id->closes_at_once)
		rnic_cma_qp_to_error(id);
}

static void on_multicast_join(struct rnic_cma_event *event, struct rnic_cma_id *id)
{
	const struct rnic_gid *group = &event->native.path.dest_gid;
	int error = rnic_cma_multicast_attach(id, group);

	rnic_cma_ud_param(&event->native, &event->public.param.ud);
	event->public.param.ud.private_data = rnic_cma_multicast_context(id, group);
	if (error != 0)
		rdmacm_event_fail(event, RDMA_CM_EVENT_MULTICAST_ERROR, error);
}

static void on_multicast_error(struct rnic_cma_event *event, struct rnic_cma_id *id)
{
	event->public.param.ud.private_data =
		rnic_cma_multicast_context(id, &event->native.path.dest_gid);
}

/* Reactions of this side to the daemon's events; an empty entry means that there is none. */
static void (*const reactions[RNIC_CM_EVENT_COUNT])(struct rnic_cma_event *,
						    struct rnic_cma_id *) = {
	[RNIC_CM_ADDR_RESOLVED] = rdmacm_event_on_address_resolved,
	[RNIC_CM_ROUTE_RESOLVED] = rdmacm_event_on_address_resolved,
	[RNIC_CM_CONNECT_REQUEST] = rdmacm_event_on_connect_request,
	[RNIC_CM_CONNECT_RESPONSE] = on_connect_response,
	[RNIC_CM_ESTABLISHED] = rdmacm_event_on_established,
	[RNIC_CM_UNREACHABLE] = on_refused,
	[RNIC_CM_REJECTED] = on_refused,
	[RNIC_CM_DISCONNECTED] = rdmacm_event_on_disconnected,
	[RNIC_CM_MULTICAST_JOIN] = on_multicast_join,
	[RNIC_CM_MULTICAST_ERROR] = on_multicast_error,
};

/* The user of a native identifier that this side refuses. */
static struct rnic_cma_id refused;

static void set_user(struct rnic_cma_channel *channel, struct rnic_cm_id *native,
		     struct rnic_cma_id *id)
{
	pthread_mutex_lock(&channel->lock);
	rnic_native.cm_set_user(native, id);
	pthread_cond_broadcast(&channel->changed);
	pthread_mutex_unlock(&channel->lock);
}

/*
 * Another thread may just have taken the request that a native identifier came with. A thread that
 * was cancelled while it waits here would lose its event.
 */
static struct rnic_cma_id *user_of(struct rnic_cma_channel *channel, struct rnic_cm_id *native)
{
	struct rnic_cma_id *id;
	int cancellation;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	pthread_mutex_lock(&channel->lock);
	while ((id = rnic_native.cm_user(native)) == NULL)
		pthread_cond_wait(&channel->changed, &channel->lock);
	pthread_mutex_unlock(&channel->lock);
	pthread_setcancelstate(cancellation, NULL);
	return id;
}

/* Makes the identifier of a request; without memory for it, refuses the request. */
static int adopt_request(struct rnic_cma_channel *channel, struct rnic_cma_device *device,
			 struct rnic_cma_event *event)
{
	struct rnic_cm_event *native = &event->native;
	struct rnic_cma_id *id;
	int error = rnic_cma_adopt_request(rnic_native.cm_user(native->listener), channel, device,
					   native, &id);

	set_user(channel, native->id, error == 0 ? id : &refused);
	if (error != 0) {
		rnic_native.cm_ack_event(native);
		rnic_native.cm_destroy_id(native->id);
	}
	return error;
}

/* True: an event for the application. */
static bool interpret(struct rnic_cma_channel *channel, struct rnic_cma_event *event)
{
	struct rnic_cm_event *native = &event->native;
	struct rnic_cma_id *id =
		user_of(channel, native->listener != NULL ? native->listener : native->id);

	event->is_native = true;
	event->public.id = &id->public;
	event->public.event = (enum rdma_cm_event_type)native->type;
	event->public.status = native->status;
	/*
	 * An identifier that was told that there is no connection is not told of the connection's
	 * end.
	 */
	if (id == &refused || (native->type == RNIC_CM_DISCONNECTED && id->has_failed)) {
		rnic_native.cm_ack_event(native);
		return false;
	}
	if (native->listener == NULL) {
		id->remote_ece = (struct ibv_ece){
			.vendor_id = native->parameters.ece_vendor_id,
			.options = native->parameters.ece_options,
		};
	}
	if (reactions[native->type] != NULL)
		reactions[native->type](event, id);
	return true;
}

static int rdmacm_event_get_event(struct rnic_cma_channel *channel, struct rnic_cma_event *event)
{
	struct rnic_cma_source *source;
	int error;

	for (;;) {
		*event = (struct rnic_cma_event){0};
		error = rnic_cma_sources_take(channel, &event->native, &source);
		if (rnic_cma_is_loss(error)) {
			error = report_removal(channel, source, event);
			if (error == -ENODEV && rnic_cma_source_leave(channel, source))
				continue;
			return error;
		}
		if (error == 0 && event->native.type == RNIC_CM_CONNECT_REQUEST)
			error = adopt_request(channel, source->device, event);
		if (error != 0 || interpret(channel, event))
			return error;
	}
}

int rdma_get_cm_event(struct rdma_event_channel *public, struct rdma_cm_event **taken)
{
	struct rnic_cma_channel *channel = rnic_cma_channel(public);
	struct rnic_cma_event *event;
	int error;

	if (public == NULL || taken == NULL)
		return rnic_cma_result(-EINVAL);
	event = malloc(sizeof(*event));
	if (event == NULL)
		return rnic_cma_result(-ENOMEM);
	rnic_cma_channel_hold(channel);
	pthread_cleanup_push(rnic_cma_channel_release, channel);
	pthread_cleanup_push(free, event);
	error = rdmacm_event_get_event(channel, event);
	if (error != 0 && atomic_load(&channel->is_destroyed))
		rnic_native.wait_for_end_of_process();
	pthread_cleanup_pop(false);
	pthread_cleanup_pop(true);
	if (error != 0) {
		free(event);
		return rnic_cma_result(error);
	}
	*taken = &event->public;
	return 0;
}

int rnic_cma_complete(struct rnic_cma_id *id)
{
	struct rdma_cm_id *public = &id->public;
	int status;

	if (!id->is_synchronous)
		return 0;
	if (public->event != NULL) {
		rdma_ack_cm_event(public->event);
		public->event = NULL;
	}
	if (rdma_get_cm_event(public->channel, &public->event) != 0)
		return -errno;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is an event, after a 0. */
	status = public->event->status;
	if (status == 0)
		return 0;
	if (public->event->event == RDMA_CM_EVENT_REJECTED)
		return -ECONNREFUSED;
	return status < 0 ? status : -status;
}
