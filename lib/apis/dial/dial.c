/* SPDX-License-Identifier: MIT */
#include "lib/apis/dial/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#define ADDRESSES_MAX	   16
#define RESOLVE_TIMEOUT_MS 2000
#define MOST_RETRIES	   7 /* of RNR: without end (IBTA 1.4, 9.7.5.2.8) */

#define PEER_ACCESS (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC)

/* --- events ---------------------------------------------------------------------------------- */

int rnic_dial_create_channel(struct rnic_context *context, struct rnic_cm_channel **created)
{
	struct rnic_cm_channel *channel;
	int error = rnic_cm_create_channel(context, &channel);

	if (error != 0)
		return error;
	if (fcntl(rnic_cm_channel_fd(channel), F_SETFL, O_NONBLOCK) != 0) {
		error = -errno;
		rnic_cm_destroy_channel(channel);
		return error;
	}
	*created = channel;
	return 0;
}

int rnic_dial_wait(struct rnic_cm_channel *channel, uint64_t deadline_ns,
		   struct rnic_cm_event *event)
{
	struct pollfd descriptor = {.fd = rnic_cm_channel_fd(channel), .events = POLLIN};

	for (;;) {
		int error = rnic_cm_get_event(channel, event);
		int count;

		if (error != -EAGAIN)
			return error;
		count = rnic_wait(NULL, &descriptor, 1, rnic_dial_poll_timeout_ms(deadline_ns));
		if (count < 0)
			return count;
		if (count == 0 && rnic_dial_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
	}
}

/* The errno for a connection that did not come about. */
static int error_of(const struct rnic_cm_event *event)
{
	switch (event->type) {
	case RNIC_CM_REJECTED:
		return -ECONNREFUSED;
	case RNIC_CM_UNREACHABLE:
		return event->status < 0 ? event->status : -ETIMEDOUT;
	case RNIC_CM_ADDR_ERROR:
	case RNIC_CM_ROUTE_ERROR:
		/*
		 * The device has no address of that family. From a call -ENODEV would mean the
		 * daemon's end.
		 */
		if (event->status == -ENODEV)
			return -ENETUNREACH;
		return event->status < 0 ? event->status : -EHOSTUNREACH;
	default:
		return -ECONNABORTED;
	}
}

/* Waits until the connection has come to `type`, or a step on the way there has failed. */
static int await(const struct rnic_dial_attempt *attempt, enum rnic_cm_event_type type,
		 struct rnic_cm_parameters *peer)
{
	struct rnic_cm_event event;
	int error = rnic_dial_wait(attempt->channel, attempt->deadline_ns, &event);

	if (error != 0)
		return error;
	if (event.type == type)
		*peer = event.parameters;
	else
		error = error_of(&event);
	rnic_cm_ack_event(&event);
	return error;
}

/* --- queue pairs ----------------------------------------------------------------------------- */

int rnic_dial_prepare(struct rnic_qp *qp)
{
	const struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_INIT,
		.port = 1,
		.access_flags = PEER_ACCESS,
	};

	return rnic_modify_qp(qp, &attributes,
			      RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT |
				      RNIC_QP_ATTR_ACCESS_FLAGS);
}

void rnic_dial_fail_qp(struct rnic_qp *qp)
{
	const struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_ERR};

	rnic_modify_qp(qp, &attributes, RNIC_QP_ATTR_STATE);
}

/* IBTA 1.4, 10.3.1: a queue pair takes a new timeout in SQD, when its send queue is drained. */
int rnic_dial_set_ack_timeout(struct rnic_qp *qp, uint8_t code)
{
	const struct rnic_qp_attributes drained = {.state = RNIC_QP_STATE_SQD, .timeout = code};
	const struct rnic_qp_attributes sending = {.state = RNIC_QP_STATE_RTS};
	int error = rnic_modify_qp(qp, &drained, RNIC_QP_ATTR_STATE);

	if (error == 0)
		error = rnic_modify_qp(qp, &drained, RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_TIMEOUT);
	if (error == 0)
		error = rnic_modify_qp(qp, &sending, RNIC_QP_ATTR_STATE);
	return error;
}

static uint8_t bounded_depth(uint8_t depth)
{
	return depth < RNIC_DIAL_READ_DEPTH ? depth : RNIC_DIAL_READ_DEPTH;
}

static int dial_bring_up(struct rnic_cm_id *id, struct rnic_qp *qp)
{
	struct rnic_qp_attributes attributes;
	uint32_t receive_mask, send_mask;
	int error = rnic_cm_connection_attributes(id, &attributes, &receive_mask, &send_mask);

	if (error != 0)
		return error;
	attributes.max_rd_atomic = bounded_depth(attributes.max_rd_atomic);
	attributes.max_dest_rd_atomic = bounded_depth(attributes.max_dest_rd_atomic);
	return rnic_connect_qp(qp, &attributes, receive_mask, send_mask);
}

int rnic_dial_parameters(const struct rnic_qp *qp, const void *private_data,
			 size_t private_data_bytes, struct rnic_cm_parameters *parameters)
{
	if (private_data_bytes > UINT8_MAX || (private_data == NULL && private_data_bytes > 0))
		return -EINVAL;
	*parameters = (struct rnic_cm_parameters){
		.qpn = rnic_qp_number(qp),
		.responder_resources = RNIC_DIAL_READ_DEPTH,
		.initiator_depth = RNIC_DIAL_READ_DEPTH,
		.flow_control = 1,
		.retry_count = MOST_RETRIES,
		.rnr_retry_count = MOST_RETRIES,
		.private_data_bytes = (uint8_t)private_data_bytes,
	};
	if (private_data_bytes > 0)
		memcpy(parameters->private_data, private_data, private_data_bytes);
	return 0;
}

/* --- connecting ------------------------------------------------------------------------------ */

int rnic_dial_finish(struct rnic_cm_id *id, struct rnic_qp *qp)
{
	int error = dial_bring_up(id, qp);

	return error != 0 ? error : rnic_cm_establish(id);
}

static int dial_walk(const struct rnic_dial_attempt *attempt, struct rnic_cm_id *id,
		     const struct rnic_endpoint *to, struct rnic_cm_parameters *answer)
{
	int error = rnic_cm_resolve_address(id, NULL, to, RESOLVE_TIMEOUT_MS);

	if (error == 0)
		error = await(attempt, RNIC_CM_ADDR_RESOLVED, answer);
	if (error == 0)
		error = rnic_cm_resolve_route(id, RESOLVE_TIMEOUT_MS);
	if (error == 0)
		error = await(attempt, RNIC_CM_ROUTE_RESOLVED, answer);
	if (error == 0)
		error = rnic_cm_connect(id, attempt->parameters);
	if (error == 0)
		error = await(attempt, RNIC_CM_CONNECT_RESPONSE, answer);
	return error;
}

static void destroy_id(void *id)
{
	rnic_cm_destroy_id(id);
}

static int dial_connect_to(const struct rnic_dial_attempt *attempt, const struct rnic_endpoint *to,
			   struct rnic_cm_id **connected, struct rnic_cm_parameters *answer)
{
	struct rnic_cm_id *id;
	int error = rnic_cm_create_id(attempt->channel, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC, NULL,
				      &id);

	if (error != 0)
		return error;
	pthread_cleanup_push(destroy_id, id);
	error = dial_walk(attempt, id, to, answer);
	pthread_cleanup_pop(false);
	if (error != 0)
		rnic_cm_destroy_id(id);
	else
		*connected = id;
	return error;
}

int rnic_dial_connect(const struct rnic_dial_attempt *attempt, const char *host, uint16_t port,
		      struct rnic_cm_id **connected, struct rnic_cm_parameters *answer)
{
	struct rnic_endpoint endpoints[ADDRESSES_MAX];
	int count = rnic_dial_resolve(host, port, ADDRESSES_MAX, endpoints);
	struct rnic_cm_parameters said;
	struct rnic_cm_id *id = NULL;
	int error = count;

	for (int i = 0; i < count; i++) {
		error = dial_connect_to(attempt, &endpoints[i], &id, &said);
		if (error == 0 || error == -EINTR || error == -ENODEV || error == -EIO ||
		    rnic_dial_now_ns() >= attempt->deadline_ns)
			break;
	}
	if (error != 0)
		return error;
	error = rnic_dial_finish(id, attempt->qp);
	if (error != 0) {
		rnic_cm_destroy_id(id);
		return error;
	}
	*connected = id;
	*answer = said;
	return 0;
}

/* --- being connected to ---------------------------------------------------------------------- */

int rnic_dial_listen(struct rnic_cm_channel *channel, const char *host, uint16_t port,
		     uint32_t backlog, struct rnic_cm_id **listener, uint16_t *bound_port)
{
	/* A listener on any IPv6 address listens on any IPv4 address too. */
	struct rnic_endpoint endpoint = {.family = 6, .port = port};
	struct rnic_cm_endpoints where;
	struct rnic_cm_id *id;
	int error = host == NULL ? 1 : rnic_dial_resolve(host, port, 1, &endpoint);

	if (error < 0)
		return error;
	error = rnic_cm_create_id(channel, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC, NULL, &id);
	if (error != 0)
		return error;
	error = rnic_cm_bind(id, &endpoint, &where);
	if (error == 0)
		error = rnic_cm_listen(id, backlog, NULL);
	if (error != 0) {
		rnic_cm_destroy_id(id);
		return error;
	}
	*listener = id;
	*bound_port = where.local.port;
	return 0;
}

int rnic_dial_next_request(struct rnic_cm_channel *channel, uint64_t deadline_ns,
			   struct rnic_cm_id **id, struct rnic_cm_parameters *request)
{
	struct rnic_cm_event event;
	bool is_request = false;

	do {
		int error = rnic_dial_wait(channel, deadline_ns, &event);

		if (error == -ENOMEM)
			continue;
		if (error != 0)
			return error;
		is_request = event.type == RNIC_CM_CONNECT_REQUEST;
		if (is_request) {
			*id = event.id;
			*request = event.parameters;
		}
		rnic_cm_ack_event(&event);
	} while (!is_request);
	return 0;
}

int rnic_dial_begin_accept(struct rnic_cm_id *id, struct rnic_qp *qp,
			   const struct rnic_cm_parameters *parameters,
			   const struct rnic_cm_parameters *request)
{
	struct rnic_cm_parameters answer = *parameters;
	int error;

	/* No more than the peer asked for. */
	answer.responder_resources = bounded_depth(request->responder_resources);
	answer.initiator_depth = bounded_depth(request->initiator_depth);
	error = dial_bring_up(id, qp);
	return error != 0 ? error : rnic_cm_accept(id, &answer);
}

/* The daemon refuses to accept a peer that has gone; an event tells whether that is the reason. */
static int reason_not_to_accept(struct rnic_cm_channel *channel, int error)
{
	struct rnic_cm_event event;

	if (error != -EINVAL || rnic_dial_wait(channel, 0, &event) != 0)
		return error;
	rnic_cm_ack_event(&event);
	return -ECONNABORTED;
}

int rnic_dial_accept(const struct rnic_dial_attempt *attempt, struct rnic_cm_id *id,
		     const struct rnic_cm_parameters *request)
{
	struct rnic_cm_parameters confirmed;
	int error = rnic_dial_begin_accept(id, attempt->qp, attempt->parameters, request);

	if (error != 0)
		return reason_not_to_accept(attempt->channel, error);
	error = await(attempt, RNIC_CM_ESTABLISHED, &confirmed);
	return error == -ECONNREFUSED ? -ECONNABORTED : error;
}
