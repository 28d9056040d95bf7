/* SPDX-License-Identifier: MIT */
/*
 * Accepting streams. The listeners' thread (rsocket_listeners.c) answers each request when the
 * request comes, and raccept() only hands out the connection, as with TCP and as rdma-core's
 * librdmacm does (listen_svc in its rsocket.c): a program may connect to its own listener, send,
 * and accept afterwards.
 */
#include "lib/dropin/rsockets/rsocket_stream.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

/* --- answering: in the listeners' thread ----------------------------------------------------- */

/* Answers the request that `stream` took over. */
static int rsocket_accept_answer(struct rnic_rsocket_stream *stream, const uint8_t *asked,
				 size_t asked_bytes)
{
	uint8_t greeting[RNIC_RSOCKET_GREETING_BYTES];
	struct rdma_conn_param parameters = rnic_rsocket_parameters_of(greeting);
	int error = rnic_rsocket_endpoint_create(stream);

	if (error == 0)
		error = rnic_rsocket_endpoint_begin(stream, asked, asked_bytes);
	if (error != 0)
		return error;
	rnic_rsocket_endpoint_greet(stream, greeting);
	stream->state = RNIC_RSOCKET_ACCEPTING;
	return rdma_accept(stream->id, &parameters) == 0 ? 0 : -errno;
}

static void rsocket_accept_refuse(struct rdma_cm_id *id)
{
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

/*
 * Takes the request over into a new rsocket, or refuses the request. NULL: refused. The application
 * hears of no request that fails: the client may be gone, or speak another version of the protocol.
 */
static struct rnic_rsocket *adopt(const struct rnic_rsocket *listener,
				  const struct rnic_rsocket_options *options,
				  struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;
	const size_t asked_bytes = event->param.conn.private_data_len;
	uint8_t asked[UINT8_MAX] = {0};
	struct rnic_rsocket *rs;
	int error;

	if (asked_bytes > 0)
		memcpy(asked, event->param.conn.private_data, asked_bytes);
	rdma_ack_cm_event(event);
	if (rnic_rsocket_stream_create(listener->kind, listener->domain, options, &rs) != 0) {
		rsocket_accept_refuse(id);
		return NULL;
	}
	if (rdma_migrate_id(id, rnic_rsocket_stream(rs)->channel) != 0) {
		rsocket_accept_refuse(id);
		rnic_rsocket_put(rs);
		return NULL;
	}
	rnic_rsocket_stream(rs)->id = id;
	error = rsocket_accept_answer(rnic_rsocket_stream(rs), asked, asked_bytes);
	if (error == 0 && rs->options.keeps_alive)
		error = rnic_rsocket_keep_alive(rs, rnic_rsocket_keepalive_seconds(rs));
	if (error == 0)
		return rs;
	rdma_reject(id, NULL, 0);
	rnic_rsocket_put(rs);
	return NULL;
}

static void line_up(struct rnic_rsocket_stream *listener, struct rnic_rsocket *accepted)
{
	struct rnic_rsocket_stream **link = &listener->accepted;

	while (*link != NULL)
		link = &(*link)->next_accepted;
	*link = rnic_rsocket_stream(accepted);
	listener->accepted_count++;
	rnic_rsocket_ring(&listener->rs);
}

/*
 * One connection more than the backlog, as Linux's TCP (sk_acceptq_is_full() of Linux 6.12): a
 * backlog of 0 lets one client wait. Further requests wait unanswered in the daemon, which counts
 * them against the backlog once more.
 */
static bool has_place(const struct rnic_rsocket_stream *listener)
{
	return listener->state == RNIC_RSOCKET_LISTENING && !listener->rs.is_closed &&
	       listener->accepted_count <= listener->backlog;
}

/* Looks for an event. True: the thread asks again. */
static bool rsocket_accept_take(struct rnic_rsocket_stream *listener,
				const struct rnic_rsocket_options *options)
{
	struct rnic_rsocket *rs = &listener->rs, *accepted = NULL;
	struct rdma_cm_event *event;
	int error = rdma_get_cm_event(listener->channel, &event) == 0 ? 0 : errno;

	if (error == 0 && event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		accepted = adopt(rs, options, event);
		event = NULL;
	}
	rnic_rsocket_lock(rs);
	if (accepted != NULL)
		line_up(listener, accepted);
	else if (error == 0 && event != NULL)
		rnic_rsocket_react(listener, event);
	else if (error != 0 && error != EAGAIN && error != EINTR)
		rnic_rsocket_end(listener, ENETDOWN);
	if (listener->state == RNIC_RSOCKET_ENDED)
		rnic_rsocket_ring(rs);
	else
		error = 0;
	rnic_rsocket_unlock(rs);
	return error == 0;
}

/* The work of the listeners' thread, without a lock. */
static bool take_request(struct rnic_rsocket_stream *listener)
{
	struct rnic_rsocket *rs = &listener->rs;
	struct rnic_rsocket_options options;
	bool is_full;

	rnic_rsocket_lock(rs);
	options = rs->options;
	is_full = listener->is_full = !has_place(listener);
	rnic_rsocket_unlock(rs);
	return !is_full && rsocket_accept_take(listener, &options);
}

/* --- the calls of the application ------------------------------------------------------------ */

int rnic_rsocket_stream_listen(struct rnic_rsocket *rs, int backlog)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);
	int error;

	if (stream->state == RNIC_RSOCKET_LISTENING)
		return 0;
	if (stream->state != RNIC_RSOCKET_IDLE)
		return -EINVAL;
	/* listen(2) takes a negative backlog for a large one. */
	if (backlog < 0 || backlog > SOMAXCONN)
		backlog = SOMAXCONN;
	if (rdma_listen(stream->id, backlog) != 0)
		return -errno;
	stream->backlog = (uint32_t)backlog;
	stream->state = RNIC_RSOCKET_LISTENING;
	error = rnic_rsocket_serve(stream, take_request);
	if (error != 0) {
		rnic_rsocket_end(stream, -error);
		return error;
	}
	rs->is_listening = true;
	return 0;
}

static bool has_accepted(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	return stream->accepted != NULL || stream->state != RNIC_RSOCKET_LISTENING;
}

/* The connection that has waited longest. NULL: there is none. */
static struct rnic_rsocket_stream *take_accepted(struct rnic_rsocket_stream *listener)
{
	struct rnic_rsocket_stream *first = listener->accepted;

	if (first == NULL)
		return NULL;
	listener->accepted = first->next_accepted;
	listener->accepted_count--;
	first->next_accepted = NULL;
	if (listener->is_full) {
		listener->is_full = false;
		rnic_rsocket_serve_again(listener);
	}
	return first;
}

int rnic_rsocket_stream_accept(struct rnic_rsocket *rs, struct rnic_rsocket **accepted)
{
	struct rnic_rsocket_stream *listener = rnic_rsocket_stream(rs), *stream;
	const int64_t deadline = rnic_rsocket_deadline(rs, 0, rs->options.receive_timeout_ns);
	int error;

	if (listener->state != RNIC_RSOCKET_LISTENING && listener->accepted == NULL)
		return -EINVAL;
	error = rnic_rsocket_await(rs, has_accepted, deadline);
	if (error != 0)
		return error;
	stream = take_accepted(listener);
	if (stream == NULL)
		return -rs->error;
	*accepted = &stream->rs;
	return 0;
}

void rnic_rsocket_refuse_accepted(struct rnic_rsocket_stream *listener)
{
	struct rnic_rsocket_stream *stream;

	for (;;) {
		rnic_rsocket_lock(&listener->rs);
		stream = take_accepted(listener);
		rnic_rsocket_unlock(&listener->rs);
		if (stream == NULL)
			return;
		stream->rs.kind->close(&stream->rs);
		rnic_rsocket_put(&stream->rs);
	}
}
