/* SPDX-License-Identifier: MIT */
/* Bytes through a stream: from and to the memory of the application. */
#include "lib/dropin/rsockets/rsocket_stream.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

/* The place up to which a list of pieces of the application's memory is used. */
struct cursor {
	const struct iovec *pieces;
	size_t count;
	size_t at; /* in the first piece */
	size_t left;
};

static int rsocket_transfer_start(struct cursor *cursor, const struct msghdr *message)
{
	*cursor = (struct cursor){.pieces = message->msg_iov, .count = message->msg_iovlen};
	for (size_t i = 0; i < cursor->count; i++) {
		if (cursor->pieces[i].iov_len > (size_t)SSIZE_MAX - cursor->left)
			return -EINVAL;
		cursor->left += cursor->pieces[i].iov_len;
	}
	return 0;
}

/* Copies between the pieces and `bytes` at `memory`, and goes on by as much. */
static void copy_at_cursor(struct cursor *cursor, uint8_t *memory, size_t bytes, bool is_out)
{
	cursor->left -= bytes;
	while (bytes > 0) {
		uint8_t *piece = (uint8_t *)cursor->pieces->iov_base + cursor->at;
		const size_t now = MIN(bytes, cursor->pieces->iov_len - cursor->at);

		if (now > 0)
			memcpy(is_out ? memory : piece, is_out ? piece : memory, now);
		memory += now;
		bytes -= now;
		cursor->at += now;
		if (cursor->at == cursor->pieces->iov_len) {
			cursor->pieces++;
			cursor->at = 0;
		}
	}
}

/* --- sending --------------------------------------------------------------------------------- */

/* Sends the bytes of one write. */
static int send_some(struct rnic_rsocket_stream *stream, struct cursor *cursor, int64_t deadline_ns)
{
	struct rnic_rsocket_write write;
	uint32_t bytes;
	int error = rnic_rsocket_await_room(stream, deadline_ns);

	if (error != 0)
		return error;
	bytes = (uint32_t)MIN(cursor->left, rnic_rsocket_flow_room(&stream->flow));
	rnic_rsocket_flow_pieces(&stream->flow, bytes, write.at, write.bytes);
	rnic_rsocket_unlock(&stream->rs);
	for (int i = 0; i < 2; i++)
		copy_at_cursor(cursor, stream->buffers.send_ring + write.at[i], write.bytes[i],
			       true);
	rnic_rsocket_lock(&stream->rs);
	if (!stream->is_writable)
		return rnic_rsocket_why_ended(&stream->rs, -EPIPE);
	rnic_rsocket_flow_write(&stream->flow, bytes, &write);
	return rnic_rsocket_post_write(stream, &write, true);
}

static ssize_t send_all(struct rnic_rsocket_stream *stream, struct cursor *cursor, int flags)
{
	struct rnic_rsocket *rs = &stream->rs;
	const int64_t deadline = rnic_rsocket_deadline(rs, flags, rs->options.send_timeout_ns);
	const size_t total = cursor->left;
	size_t left = total;
	int error = rnic_rsocket_await_connection(stream, deadline);

	if (error == 0 && stream->regions_untold > 0)
		error = rnic_rsocket_tell_mappings(stream, deadline);
	while (error == 0 && left > 0) {
		error = send_some(stream, cursor, deadline);
		if (error == 0)
			left = cursor->left;
	}
	return rnic_rsocket_report(rs, total - left, error);
}

static void rsocket_transfer_unlock(void *lock)
{
	pthread_mutex_unlock(lock);
}

ssize_t rnic_rsocket_stream_send(struct rnic_rsocket *rs, const struct msghdr *message, int flags)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);
	struct cursor cursor;
	ssize_t result = rsocket_transfer_start(&cursor, message);

	if (message->msg_name != NULL && message->msg_namelen > 0)
		return -EISCONN;
	if (result != 0)
		return result;
	result = -pthread_mutex_lock(&stream->sending);
	if (result != 0)
		return result;
	pthread_cleanup_push(rsocket_transfer_unlock, &stream->sending);
	rnic_rsocket_lock(rs);
	result = send_all(stream, &cursor, flags);
	rnic_rsocket_unlock(rs);
	pthread_cleanup_pop(true);
	return result;
}

/* --- receiving ------------------------------------------------------------------------------- */

static bool rsocket_transfer_can_receive(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	return stream->flow.readable > 0 || !stream->is_readable;
}

/* Reads the bytes of one piece of the ring. 0: the end. */
static ssize_t receive_some(struct rnic_rsocket_stream *stream, struct cursor *cursor,
			    uint32_t skipped, int64_t deadline_ns)
{
	const struct rnic_rsocket_flow *flow = &stream->flow;
	uint32_t at, bytes;
	int error = 0;

	if (flow->readable <= skipped)
		error = rnic_rsocket_await(&stream->rs, rsocket_transfer_can_receive, deadline_ns);
	if (error != 0)
		return error;
	if (flow->readable <= skipped)
		return skipped > 0 ? 0 : rnic_rsocket_why_ended(&stream->rs, 0);
	at = (flow->read_at + skipped) % flow->limits.receive_bytes;
	bytes = MIN(flow->readable - skipped, flow->limits.receive_bytes - at);
	bytes = (uint32_t)MIN(cursor->left, bytes);
	rnic_rsocket_unlock(&stream->rs);
	copy_at_cursor(cursor, stream->buffers.receive_ring + at, bytes, false);
	rnic_rsocket_lock(&stream->rs);
	return bytes;
}

/* Reads the bytes that are there, and with MSG_WAITALL all that the application asked for. */
static ssize_t receive_all(struct rnic_rsocket_stream *stream, struct cursor *cursor, int flags)
{
	struct rnic_rsocket *rs = &stream->rs;
	const int64_t deadline = rnic_rsocket_deadline(rs, flags, rs->options.receive_timeout_ns);
	const bool is_peek = (flags & MSG_PEEK) != 0;
	const bool waits = (flags & MSG_WAITALL) && !is_peek;
	size_t total = 0;
	ssize_t result = rnic_rsocket_await_connection(stream, deadline);

	while (result == 0 && cursor->left > 0) {
		const uint32_t skipped = is_peek ? (uint32_t)total : 0;

		if (total > 0 && !waits && stream->flow.readable <= skipped)
			break;
		result = receive_some(stream, cursor, skipped, deadline);
		if (result <= 0)
			break;
		total += (size_t)result;
		if (!is_peek) {
			rnic_rsocket_flow_consume(&stream->flow, (uint32_t)result);
			rnic_rsocket_tell_peer(stream);
		}
		result = 0;
	}
	return rnic_rsocket_report(rs, total, result);
}

ssize_t rnic_rsocket_stream_receive(struct rnic_rsocket *rs, struct msghdr *message, int flags)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);
	struct cursor cursor;
	ssize_t result = rsocket_transfer_start(&cursor, message);

	if (result != 0)
		return result;
	result = -pthread_mutex_lock(&stream->receiving);
	if (result != 0)
		return result;
	pthread_cleanup_push(rsocket_transfer_unlock, &stream->receiving);
	rnic_rsocket_lock(rs);
	result = receive_all(stream, &cursor, flags);
	rnic_rsocket_unlock(rs);
	pthread_cleanup_pop(true);
	message->msg_namelen = 0;
	message->msg_controllen = 0;
	message->msg_flags = 0;
	return result;
}
