/* SPDX-License-Identifier: MIT */
/* The beginning and the end of streams: the events of their identifiers, as states. */
#include "lib/dropin/rdmacm/rdma_translate.h"
#include "lib/dropin/rsockets/rsocket_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define RESOLVE_TIMEOUT_MS 10000
#define REFUSAL_NS	   (INT64_C(400) * 1000000)
#define RETRIES		   7 /* of RNR: without end, because the peer may be slow to read */

struct rdma_conn_param rnic_rsocket_parameters_of(const uint8_t *greeting)
{
	return (struct rdma_conn_param){
		.private_data = greeting,
		.private_data_len = RNIC_RSOCKET_GREETING_BYTES,
		.flow_control = 1,
		.retry_count = RETRIES,
		.rnr_retry_count = RETRIES,
	};
}

/* --- events ---------------------------------------------------------------------------------- */

static int rsocket_connect_on_address_resolved(struct rnic_rsocket_stream *stream,
					       struct rdma_cm_event *event)
{
	(void)event;
	if (stream->state != RNIC_RSOCKET_RESOLVING_ADDRESS)
		return 0;
	stream->state = RNIC_RSOCKET_RESOLVING_ROUTE;
	return rdma_resolve_route(stream->id, RESOLVE_TIMEOUT_MS) == 0 ? 0 : -errno;
}

static int on_route_resolved(struct rnic_rsocket_stream *stream, struct rdma_cm_event *event)
{
	uint8_t greeting[RNIC_RSOCKET_GREETING_BYTES];
	struct rdma_conn_param parameters = rnic_rsocket_parameters_of(greeting);
	int error;

	(void)event;
	if (stream->state != RNIC_RSOCKET_RESOLVING_ROUTE)
		return 0;
	error = rnic_rsocket_endpoint_create(stream);
	if (error != 0)
		return error;
	stream->state = RNIC_RSOCKET_CONNECTING;
	rnic_rsocket_endpoint_greet(stream, greeting);
	return rdma_connect(stream->id, &parameters) == 0 ? 0 : -errno;
}

static int rsocket_connect_on_established(struct rnic_rsocket_stream *stream,
					  struct rdma_cm_event *event)
{
	int error = 0;

	if (stream->state == RNIC_RSOCKET_CONNECTING)
		error = rnic_rsocket_endpoint_begin(stream, event->param.conn.private_data,
						    event->param.conn.private_data_len);
	else if (stream->state != RNIC_RSOCKET_ACCEPTING)
		return 0;
	if (error == 0)
		rnic_rsocket_stand(stream);
	return error;
}

static int status_or(const struct rdma_cm_event *event, int otherwise)
{
	return event->status < 0 ? event->status : -otherwise;
}

static int on_address_error(struct rnic_rsocket_stream *stream, struct rdma_cm_event *event)
{
	(void)stream;
	return status_or(event, EHOSTUNREACH);
}

static int on_unreachable(struct rnic_rsocket_stream *stream, struct rdma_cm_event *event)
{
	(void)stream;
	return status_or(event, ETIMEDOUT);
}

static int on_connect_error(struct rnic_rsocket_stream *stream, struct rdma_cm_event *event)
{
	(void)stream;
	return status_or(event, ECONNABORTED);
}

static int on_rejected(struct rnic_rsocket_stream *stream, struct rdma_cm_event *event)
{
	(void)stream;
	(void)event;
	return -ECONNREFUSED;
}

/* A peer that closes says goodbye first. Its last messages are in the completion queue by now. */
static int rsocket_connect_on_disconnected(struct rnic_rsocket_stream *stream,
					   struct rdma_cm_event *event)
{
	(void)event;
	rnic_rsocket_take_completions(stream);
	return -ECONNRESET;
}

static int on_removal(struct rnic_rsocket_stream *stream, struct rdma_cm_event *event)
{
	(void)stream;
	(void)event;
	return -ENETDOWN;
}

/* The reactions to events; an error ends the connection. Other events mean nothing. */
static int (*const reactions[])(struct rnic_rsocket_stream *, struct rdma_cm_event *) = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = rsocket_connect_on_address_resolved,
	[RDMA_CM_EVENT_ADDR_ERROR] = on_address_error,
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = on_route_resolved,
	[RDMA_CM_EVENT_ROUTE_ERROR] = on_address_error,
	[RDMA_CM_EVENT_CONNECT_ERROR] = on_connect_error,
	[RDMA_CM_EVENT_UNREACHABLE] = on_unreachable,
	[RDMA_CM_EVENT_REJECTED] = on_rejected,
	[RDMA_CM_EVENT_ESTABLISHED] = rsocket_connect_on_established,
	[RDMA_CM_EVENT_DISCONNECTED] = rsocket_connect_on_disconnected,
	[RDMA_CM_EVENT_DEVICE_REMOVAL] = on_removal,
	[RDMA_CM_EVENT_TIMEWAIT_EXIT] = NULL,
};

void rnic_rsocket_react(struct rnic_rsocket_stream *stream, struct rdma_cm_event *event)
{
	int error = 0;

	if ((size_t)event->event < sizeof(reactions) / sizeof(reactions[0]) &&
	    reactions[event->event] != NULL)
		error = reactions[event->event](stream, event);
	stream->has_news = true;
	rdma_ack_cm_event(event);
	if (error != 0)
		rnic_rsocket_end(stream, -error);
}

void rnic_rsocket_take_events(struct rnic_rsocket_stream *stream)
{
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(stream->channel, &event) == 0)
		rnic_rsocket_react(stream, event);
	if (errno != EAGAIN && errno != EINTR)
		rnic_rsocket_end(stream, ENETDOWN);
}

/* --- connecting ------------------------------------------------------------------------------ */

int rnic_rsocket_stream_bind(struct rnic_rsocket *rs, const struct sockaddr *address,
			     socklen_t bytes)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);
	struct sockaddr_storage copy = {0};

	if (stream->state != RNIC_RSOCKET_IDLE || address == NULL || bytes > sizeof(copy))
		return -EINVAL;
	memcpy(&copy, address, bytes);
	if (bytes < rnic_cma_sockaddr_bytes((const struct sockaddr *)&copy))
		return -EINVAL;
	return rdma_bind_addr(stream->id, (struct sockaddr *)&copy) == 0 ? 0 : -errno;
}

static bool has_connected(const struct rnic_rsocket *rs)
{
	return !rnic_rsocket_is_opening(rnic_rsocket_stream(rs));
}

static int begin_to_connect(struct rnic_rsocket_stream *stream, const struct sockaddr *address,
			    socklen_t bytes)
{
	struct sockaddr_storage copy = {0};

	if (address == NULL || bytes > sizeof(copy))
		return -EINVAL;
	memcpy(&copy, address, bytes);
	if (bytes < rnic_cma_sockaddr_bytes((const struct sockaddr *)&copy))
		return -EINVAL;
	stream->state = RNIC_RSOCKET_RESOLVING_ADDRESS;
	if (rdma_resolve_addr(stream->id, NULL, (struct sockaddr *)&copy, RESOLVE_TIMEOUT_MS) == 0)
		return 0;
	stream->state = RNIC_RSOCKET_IDLE;
	return -errno;
}

/*
 * librspreload falls back to TCP only when this call fails: it cannot when the call says
 * EINPROGRESS. Peers refuse a port without listener after a tenth of a second, so a non-blocking
 * socket waits a little longer than that, once, and then goes on in the background.
 */
static int64_t rsocket_connect_deadline(int64_t deadline)
{
	return deadline == 0 && rnic_rsocket_is_preloaded() ? rnic_rsocket_now_ns() + REFUSAL_NS
							    : deadline;
}

int rnic_rsocket_stream_connect(struct rnic_rsocket *rs, const struct sockaddr *address,
				socklen_t bytes)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);
	int64_t deadline = rnic_rsocket_deadline(rs, 0, rs->options.send_timeout_ns);
	int error;

	if (rnic_rsocket_is_opening(stream) && deadline == 0)
		return -EALREADY;
	if (stream->state == RNIC_RSOCKET_CONNECTED)
		return -EISCONN;
	if (stream->state == RNIC_RSOCKET_LISTENING || stream->state == RNIC_RSOCKET_ENDED)
		return -EINVAL;
	if (stream->state == RNIC_RSOCKET_IDLE) {
		error = begin_to_connect(stream, address, bytes);
		if (error != 0)
			return error;
		deadline = rsocket_connect_deadline(deadline);
	}
	error = rnic_rsocket_await(rs, has_connected, deadline);
	if (error == -EAGAIN)
		return -EINPROGRESS;
	if (error == 0 && stream->state == RNIC_RSOCKET_ENDED) {
		error = -rs->error;
		rs->error = 0;
	}
	return error;
}
