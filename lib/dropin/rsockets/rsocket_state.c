/* SPDX-License-Identifier: MIT */
/* The states of a stream's connection, and waiting for them. */
#include "lib/dropin/rsockets/rsocket_stream.h"

#include <errno.h>

void rnic_rsocket_end(struct rnic_rsocket_stream *stream, int error)
{
	if (stream->state == RNIC_RSOCKET_ENDED)
		return;
	stream->state = RNIC_RSOCKET_ENDED;
	stream->is_readable = false;
	stream->is_writable = false;
	stream->rs.error = error;
	stream->has_news = true;
}

void rnic_rsocket_stand(struct rnic_rsocket_stream *stream)
{
	stream->state = RNIC_RSOCKET_CONNECTED;
	stream->is_readable = true;
	stream->is_writable = true;
}

static bool is_open(const struct rnic_rsocket *rs)
{
	return !rnic_rsocket_is_opening(rnic_rsocket_stream(rs));
}

int rnic_rsocket_await_connection(struct rnic_rsocket_stream *stream, int64_t deadline_ns)
{
	if (rnic_rsocket_is_opening(stream))
		return rnic_rsocket_await(&stream->rs, is_open, deadline_ns);
	if (stream->state == RNIC_RSOCKET_IDLE || stream->state == RNIC_RSOCKET_LISTENING)
		return -ENOTCONN;
	return 0;
}

int rnic_rsocket_why_ended(const struct rnic_rsocket *rs, int otherwise)
{
	return rs->error != 0 ? -rs->error : otherwise;
}

ssize_t rnic_rsocket_report(struct rnic_rsocket *rs, size_t bytes, ssize_t error)
{
	if (bytes > 0)
		return (ssize_t)bytes;
	if (error == -rs->error)
		rs->error = 0;
	return error;
}

static bool rsocket_state_can_send(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	return !stream->is_writable || rnic_rsocket_flow_room(&stream->flow) > 0;
}

int rnic_rsocket_await_room(struct rnic_rsocket_stream *stream, int64_t deadline_ns)
{
	int error = 0;

	if (!rsocket_state_can_send(&stream->rs))
		error = rnic_rsocket_await(&stream->rs, rsocket_state_can_send, deadline_ns);
	if (error == 0 && !stream->is_writable)
		error = rnic_rsocket_why_ended(&stream->rs, -EPIPE);
	return error;
}
