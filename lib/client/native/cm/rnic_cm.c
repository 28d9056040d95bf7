/* SPDX-License-Identifier: MIT */
/* Identifiers of the connection manager: every call is one request to the daemon. */
#include "lib/client/native/drop_in_calls.h"
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/cm/rnic_cm_objects.h"
#include "lib/wait/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A request without reply or descriptors. */
static int request(struct rnic_cm_id *id, enum rnic_ctl_operation operation, const void *payload,
		   size_t bytes)
{
	return rnic_link_tell(&id->context->control, operation, payload, bytes);
}

/* A request that is answered with where the identifier is; `endpoints` may be NULL. */
static int request_endpoints(struct rnic_cm_id *id, enum rnic_ctl_operation operation,
			     const void *payload, size_t bytes, struct rnic_cm_endpoints *endpoints)
{
	struct rnic_ctl_cm_endpoints_reply reply;
	const struct rnic_call call = {
		.operation = operation,
		.request = payload,
		.request_bytes = bytes,
		.request_fd = -1,
		.reply = &reply,
		.reply_bytes = sizeof(reply),
	};
	int error = rnic_link_call(&id->context->control, &call);

	if (error == 0 && endpoints != NULL)
		*endpoints = (struct rnic_cm_endpoints){
			.local = reply.local,
			.peer = reply.peer,
			.path = reply.path,
			.path_mtu = reply.path_mtu,
		};
	return error;
}

/* ---- being and not being ---- */

int rnic_cm_create_id(struct rnic_cm_channel *channel, enum rnic_port_space port_space,
		      enum rnic_qp_type qp_type, void *user, struct rnic_cm_id **id)
{
	RNIC_REFUSE_NULL(channel, id);
	const struct rnic_ctl_cm_create_id wanted = {
		.channel = channel->handle,
		.port_space = port_space,
		.qp_type = qp_type,
	};
	struct rnic_ctl_cm_id_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_CM_CREATE_ID, wanted, reply);
	int cancellation, error = rnic_link_call(&channel->context->control, &call);

	if (error != 0)
		return error;
	error = rnic_cm_adopt_id(channel, reply.id, user, id);
	if (error != 0) {
		rnic_cm_channel_stop(channel, &cancellation);
		rnic_cm_destroy_handle(channel, reply.id);
		rnic_cm_channel_go_on(channel, cancellation);
	}
	return error;
}

static void cm_await_acknowledgements(struct rnic_cm_id *id)
{
	struct rnic_context *context = id->context;

	pthread_mutex_lock(&context->objects_lock);
	rnic_event_count_wait(context, &id->events);
	pthread_mutex_unlock(&context->objects_lock);
}

/*
 * Stops the channel where the identifier reports, and holds the channel: another thread may move
 * the identifier until then.
 */
static struct rnic_cm_channel *cm_stop(struct rnic_cm_id *id, int *cancellation)
{
	pthread_mutex_t *lock = &id->context->objects_lock;
	struct rnic_cm_channel *channel;
	bool is_there;

	for (;;) {
		pthread_mutex_lock(lock);
		channel = id->channel;
		channel->references++;
		pthread_mutex_unlock(lock);
		rnic_cm_channel_stop(channel, cancellation);
		pthread_mutex_lock(lock);
		is_there = id->channel == channel;
		pthread_mutex_unlock(lock);
		if (is_there)
			return channel;
		rnic_cm_channel_go_on(channel, *cancellation);
		rnic_cm_channel_release(channel);
	}
}

static void cm_go_on(struct rnic_cm_channel *channel, int cancellation)
{
	rnic_cm_channel_go_on(channel, cancellation);
	rnic_cm_channel_release(channel);
}

/* ---- events that were announced, and are taken back ---- */

#define LET_TAKE_NS	 UINT64_C(200000000) /* some time slices of a busy machine */
#define LET_TAKE_SHARE	 8		     /* at most 1 part of the time in so many is lost */
#define LET_TAKE_STEP_NS 200000

/* Whether another thread takes the channel's events, and has not ended. */
static bool has_taker(const struct rnic_cm_id *id, uint64_t now_ns)
{
	const struct rnic_cm_channel *channel;
	pid_t taker;
	bool may_wait;

	pthread_mutex_lock(&id->context->objects_lock);
	channel = id->channel;
	taker = channel->taker;
	may_wait = now_ns >= channel->waives_until_ns;
	pthread_mutex_unlock(&id->context->objects_lock);
	return may_wait && taker != 0 && taker != gettid() && tgkill(getpid(), taker, 0) == 0;
}

/* Whether the channel's first event is the identifier's: before others it is not the last one. */
static bool is_announced(struct rnic_cm_id *id)
{
	struct rnic_cm_id *reporting;
	int cancellation, error;
	struct rnic_cm_channel *channel = cm_stop(id, &cancellation);

	error = rnic_cm_channel_find_first(channel, &reporting);
	cm_go_on(channel, cancellation);
	return error == 0 && reporting == id;
}

/* The taker does not come: a program that ends many identifiers must not wait for each. */
static void waive(struct rnic_cm_id *id, uint64_t now_ns)
{
	pthread_mutex_lock(&id->context->objects_lock);
	id->channel->waives_until_ns = now_ns + LET_TAKE_SHARE * LET_TAKE_NS;
	pthread_mutex_unlock(&id->context->objects_lock);
}

void rnic_cm_let_take(struct rnic_cm_id *id)
{
	const struct timespec step = {.tv_nsec = LET_TAKE_STEP_NS};
	const uint64_t began_ns = clock_now_ns();
	uint64_t now_ns = began_ns;

	if (id->has_ended || rnic_context_lost(id->context) != 0 || !has_taker(id, began_ns))
		return;
	while (is_announced(id)) {
		if (now_ns - began_ns >= LET_TAKE_NS) {
			waive(id, now_ns);
			return;
		}
		nanosleep(&step, NULL);
		now_ns = clock_now_ns();
	}
}

/* ---- the end ---- */

static int cm_destroy_at_daemon(struct rnic_cm_id *id)
{
	int cancellation, error;
	struct rnic_cm_channel *channel = cm_stop(id, &cancellation);

	error = rnic_cm_destroy_handle(channel, id->handle);
	if (error == 0)
		rnic_cm_leave_table(id);
	cm_go_on(channel, cancellation);
	return error;
}

int rnic_cm_end_id(struct rnic_cm_id *id)
{
	int error;

	if (id->has_ended)
		return 0;
	error = rnic_context_lost(id->context);
	if (error == 0)
		error = cm_destroy_at_daemon(id);
	if (error != 0 && rnic_context_lost(id->context) == 0)
		return error;
	if (error != 0)
		rnic_cm_leave_table(id);
	id->has_ended = true;
	return 0;
}

bool rnic_cm_has_open_events(struct rnic_cm_id *id)
{
	bool has_open;

	pthread_mutex_lock(&id->context->objects_lock);
	has_open = id->events.delivered != id->events.acknowledged;
	pthread_mutex_unlock(&id->context->objects_lock);
	return has_open;
}

int rnic_cm_destroy_id(struct rnic_cm_id *id)
{
	RNIC_REFUSE_NULL(id);
	struct rnic_context *context = id->context;
	int error = rnic_cm_end_id(id);

	if (error == 0) {
		cm_await_acknowledgements(id);
		rnic_context_release(context);
		free(id);
	}
	return error;
}

void *rnic_cm_user(const struct rnic_cm_id *id)
{
	return id != NULL ? id->user : NULL;
}

void rnic_cm_set_user(struct rnic_cm_id *id, void *user)
{
	if (id == NULL)
		return;
	id->user = user;
}

/* Under `taking` of the channel where the identifier reported before. */
static void cm_report_to(struct rnic_cm_id *id, struct rnic_cm_channel *channel, uint32_t moves)
{
	pthread_mutex_lock(&id->context->objects_lock);
	id->channel = channel;
	id->moves = moves;
	pthread_mutex_unlock(&id->context->objects_lock);
}

/* Under `taking` of `old`. Events come on the new channel before the daemon's reply comes. */
static int cm_move(struct rnic_cm_id *id, struct rnic_cm_channel *old,
		   struct rnic_cm_channel *channel)
{
	const struct rnic_ctl_cm_migrate wanted = {
		.id = id->handle,
		.channel = channel->handle,
		.taken = old->taken,
	};
	const uint32_t moves = id->moves;
	int error;

	cm_report_to(id, channel, moves + 1);
	error = request(id, RNIC_CTL_CM_MIGRATE, &wanted, sizeof(wanted));
	if (error != 0)
		cm_report_to(id, old, moves);
	return error;
}

int rnic_cm_migrate(struct rnic_cm_id *id, struct rnic_cm_channel *channel)
{
	RNIC_REFUSE_NULL(id, channel);
	struct rnic_cm_channel *old;
	int cancellation, error = rnic_context_lost(id->context);

	if (id->context != channel->context)
		return -EINVAL;
	if (error != 0)
		return error;
	rnic_cm_channel_hold(channel);
	old = cm_stop(id, &cancellation);
	if (old != channel)
		error = cm_move(id, old, channel);
	cm_go_on(old, cancellation);
	rnic_cm_channel_release(channel);
	return error;
}

/* Notes whether options change behind the request for a connection. */
static void cm_note_options(struct rnic_cm_id *id, bool are_new)
{
	pthread_mutex_lock(&id->context->objects_lock);
	id->attributes_mask = 0;
	id->has_new_options = are_new;
	pthread_mutex_unlock(&id->context->objects_lock);
}

int rnic_cm_set_option(struct rnic_cm_id *id, enum rnic_cm_option option, uint32_t value)
{
	RNIC_REFUSE_NULL(id);
	const struct rnic_ctl_cm_set_option wanted = {
		.id = id->handle,
		.option = option,
		.value = value,
	};

	/* What events tell holds no longer. */
	cm_note_options(id, true);
	return request(id, RNIC_CTL_CM_SET_OPTION, &wanted, sizeof(wanted));
}

/* ---- addresses ---- */

int rnic_cm_query(struct rnic_cm_id *id, struct rnic_cm_endpoints *endpoints)
{
	RNIC_REFUSE_NULL(id, endpoints);
	const struct rnic_ctl_object wanted = {id->handle};

	return request_endpoints(id, RNIC_CTL_CM_QUERY, &wanted, sizeof(wanted), endpoints);
}

int rnic_cm_bind(struct rnic_cm_id *id, const struct rnic_endpoint *local,
		 struct rnic_cm_endpoints *endpoints)
{
	RNIC_REFUSE_NULL(id, local);
	const struct rnic_ctl_cm_bind wanted = {.id = id->handle, .local = *local};

	return request_endpoints(id, RNIC_CTL_CM_BIND, &wanted, sizeof(wanted), endpoints);
}

int rnic_cm_resolve_address(struct rnic_cm_id *id, const struct rnic_endpoint *source,
			    const struct rnic_endpoint *destination, uint32_t timeout_ms)
{
	RNIC_REFUSE_NULL(id, destination);
	struct rnic_ctl_cm_resolve_address wanted = {
		.id = id->handle,
		.destination = *destination,
		.timeout_ms = timeout_ms,
	};

	if (source != NULL)
		wanted.source = *source;
	return request(id, RNIC_CTL_CM_RESOLVE_ADDRESS, &wanted, sizeof(wanted));
}

int rnic_cm_resolve_route(struct rnic_cm_id *id, uint32_t timeout_ms)
{
	RNIC_REFUSE_NULL(id);
	const struct rnic_ctl_cm_resolve_route wanted = {
		.id = id->handle,
		.timeout_ms = timeout_ms,
	};

	return request(id, RNIC_CTL_CM_RESOLVE_ROUTE, &wanted, sizeof(wanted));
}

/* ---- connections ---- */

void rnic_cm_end_by_call(struct rnic_cm_id *id)
{
	id->ends_by_call = true;
}

int rnic_cm_listen(struct rnic_cm_id *id, uint32_t backlog, struct rnic_cm_endpoints *endpoints)
{
	RNIC_REFUSE_NULL(id);
	const struct rnic_ctl_cm_listen wanted = {.id = id->handle, .backlog = backlog};

	return request_endpoints(id, RNIC_CTL_CM_LISTEN, &wanted, sizeof(wanted), endpoints);
}

int rnic_cm_connect(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters)
{
	RNIC_REFUSE_NULL(id, parameters);
	const struct rnic_ctl_cm_connect wanted = {
		.id = id->handle,
		.ends_by_call = id->ends_by_call,
		.parameters = *parameters,
	};

	cm_note_options(id, false);
	return request(id, RNIC_CTL_CM_CONNECT, &wanted, sizeof(wanted));
}

int rnic_cm_establish(struct rnic_cm_id *id)
{
	RNIC_REFUSE_NULL(id);
	return rnic_link_call_object(&id->context->control, RNIC_CTL_CM_ESTABLISH, id->handle);
}

int rnic_cm_accept(struct rnic_cm_id *id, const struct rnic_cm_parameters *parameters)
{
	RNIC_REFUSE_NULL(id, parameters);
	const struct rnic_ctl_cm_connect wanted = {
		.id = id->handle,
		.ends_by_call = id->ends_by_call,
		.parameters = *parameters,
	};

	return request(id, RNIC_CTL_CM_ACCEPT, &wanted, sizeof(wanted));
}

int rnic_cm_reject(struct rnic_cm_id *id, uint32_t reason, const void *private_data,
		   uint8_t private_data_bytes)
{
	if (id == NULL || (private_data == NULL && private_data_bytes > 0))
		return -EINVAL;
	struct rnic_ctl_cm_connect wanted = {.id = id->handle, .reject_reason = reason};

	wanted.parameters.private_data_bytes = private_data_bytes;
	if (private_data_bytes > 0)
		memcpy(wanted.parameters.private_data, private_data, private_data_bytes);
	return request(id, RNIC_CTL_CM_REJECT, &wanted, sizeof(wanted));
}

int rnic_cm_disconnect(struct rnic_cm_id *id)
{
	RNIC_REFUSE_NULL(id);
	return rnic_link_call_object(&id->context->control, RNIC_CTL_CM_DISCONNECT, id->handle);
}

int rnic_cm_notify(struct rnic_cm_id *id, enum rnic_async_event_type event)
{
	RNIC_REFUSE_NULL(id);
	const struct rnic_ctl_cm_notify wanted = {.id = id->handle, .event = event};

	return request(id, RNIC_CTL_CM_NOTIFY, &wanted, sizeof(wanted));
}

/* Members of the way from RTR into RTS. */
#define SEND_MEMBERS                                                                               \
	(RNIC_QP_ATTR_SQ_PSN | RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_RETRY_COUNT |                   \
	 RNIC_QP_ATTR_RNR_RETRY | RNIC_QP_ATTR_MAX_RD_ATOMIC)

static int ask_attributes(struct rnic_cm_id *id, uint32_t state, uint32_t next_state,
			  struct rnic_qp_attributes *attributes, uint32_t *mask)
{
	const struct rnic_ctl_cm_qp_attributes wanted = {
		.id = id->handle,
		.state = state,
		.next_state = next_state,
	};
	struct rnic_ctl_cm_qp_attributes_reply reply;
	const struct rnic_call call = RNIC_CALL(RNIC_CTL_CM_QP_ATTRIBUTES, wanted, reply);
	int error = rnic_link_call(&id->context->control, &call);

	if (error != 0)
		return error;
	*attributes = reply.attributes;
	*mask = reply.mask;
	return 0;
}

int rnic_cm_qp_attributes(struct rnic_cm_id *id, enum rnic_qp_state state,
			  struct rnic_qp_attributes *attributes, uint32_t *mask)
{
	RNIC_REFUSE_NULL(id, attributes, mask);
	return ask_attributes(id, state, 0, attributes, mask);
}

/* Returns whether an event has told the attributes. */
static bool recall_attributes(struct rnic_cm_id *id, struct rnic_qp_attributes *attributes,
			      uint32_t *mask)
{
	pthread_mutex_lock(&id->context->objects_lock);
	*attributes = id->attributes;
	*mask = id->attributes_mask;
	pthread_mutex_unlock(&id->context->objects_lock);
	return *mask != 0;
}

int rnic_cm_connection_attributes(struct rnic_cm_id *id, struct rnic_qp_attributes *attributes,
				  uint32_t *receive_mask, uint32_t *send_mask)
{
	RNIC_REFUSE_NULL(id, attributes, receive_mask, send_mask);
	uint32_t mask;
	int error = 0;

	if (!recall_attributes(id, attributes, &mask))
		error = ask_attributes(id, RNIC_QP_STATE_RTR, RNIC_QP_STATE_RTS, attributes, &mask);
	if (error != 0)
		return error;
	*receive_mask = mask & ~(uint32_t)SEND_MEMBERS;
	*send_mask = mask & (RNIC_QP_ATTR_STATE | SEND_MEMBERS);
	return 0;
}

/* ---- multicast ---- */

int rnic_cm_join_mcast(struct rnic_cm_id *id, const struct rnic_endpoint *group, bool is_send_only)
{
	RNIC_REFUSE_NULL(id, group);
	const struct rnic_ctl_cm_multicast wanted = {
		.id = id->handle,
		.group = *group,
		.is_send_only = is_send_only,
	};

	return request(id, RNIC_CTL_CM_JOIN_MCAST, &wanted, sizeof(wanted));
}

int rnic_cm_leave_mcast(struct rnic_cm_id *id, const struct rnic_endpoint *group)
{
	RNIC_REFUSE_NULL(id, group);
	const struct rnic_ctl_cm_multicast wanted = {.id = id->handle, .group = *group};

	return request(id, RNIC_CTL_CM_LEAVE_MCAST, &wanted, sizeof(wanted));
}
