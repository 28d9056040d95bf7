/* SPDX-License-Identifier: MIT */
/* Streams as a kind of rsocket: ending their connections, and the descriptors for their poll(). */
#include "lib/dropin/rsockets/rsocket_stream.h"

#include "lib/dropin/rdmacm/rdma_objects.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define LINGER_NS ((int64_t)10 * 1000000000)

/* --- what there is to wait for --------------------------------------------------------------- */

/* The listeners' thread takes the events of listeners, and wakes all who wait for them. */
static bool has_events(const struct rnic_rsocket_stream *stream)
{
	return stream->state != RNIC_RSOCKET_IDLE && stream->state != RNIC_RSOCKET_LISTENING;
}

static void rsocket_stream_progress(struct rnic_rsocket *rs)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	rnic_rsocket_take_completions(stream);
	/*
	 * Looking for events costs a system call each time, so the stream does not look while data
	 * comes in.
	 */
	if (!stream->has_news && has_events(stream))
		rnic_rsocket_take_events(stream);
	if (stream->has_news)
		rnic_rsocket_ring(rs);
	stream->has_news = false;
}

static short rsocket_stream_events(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);
	short events = 0;

	switch (stream->state) {
	case RNIC_RSOCKET_IDLE:
		return POLLOUT | POLLHUP;
	case RNIC_RSOCKET_LISTENING:
		return stream->accepted != NULL ? POLLIN | POLLRDNORM : 0;
	case RNIC_RSOCKET_CONNECTED:
	case RNIC_RSOCKET_ENDED:
		break;
	default:
		return 0;
	}
	if (stream->flow.readable > 0 || !stream->is_readable)
		events |= POLLIN | POLLRDNORM;
	if (!stream->is_readable)
		events |= POLLRDHUP;
	if (!stream->is_writable || rnic_rsocket_flow_room(&stream->flow) > 0)
		events |= POLLOUT | POLLWRNORM;
	/* Only after the last byte was read: programs take POLLHUP for the end. */
	if (stream->state == RNIC_RSOCKET_ENDED && stream->flow.readable == 0)
		events |= POLLHUP;
	if (rs->error != 0)
		events |= POLLERR;
	return events;
}

static struct ibv_context *rsocket_stream_device(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	return stream->id != NULL ? stream->id->verbs : NULL;
}

static int rsocket_stream_watch(struct rnic_rsocket *rs, struct pollfd *watched)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);
	int count = 0;

	if (stream->state == RNIC_RSOCKET_LISTENING)
		return 0;
	watched[count++] = (struct pollfd){.fd = stream->channel->fd, .events = POLLIN};
	if (stream->cq == NULL)
		return count;
	watched[count++] = (struct pollfd){.fd = stream->completions->fd, .events = POLLIN};
	if (!stream->is_armed && ibv_req_notify_cq(stream->cq, 0) == 0)
		stream->is_armed = true;
	return count;
}

static void rsocket_stream_woke(struct rnic_rsocket *rs)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);
	struct ibv_cq *cq;
	void *context;

	if (has_events(stream))
		rnic_rsocket_take_events(stream);
	if (stream->completions == NULL ||
	    ibv_get_cq_event(stream->completions, &cq, &context) != 0)
		return;
	ibv_ack_cq_events(cq, 1);
	stream->is_armed = false;
	rnic_rsocket_ring(rs); /* others wait for it too, and one arms anew */
}

/* --- ending ---------------------------------------------------------------------------------- */

static bool can_tell(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	return stream->state != RNIC_RSOCKET_CONNECTED || stream->flow.controls_free > 0;
}

static bool rsocket_stream_is_sent(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	return stream->state != RNIC_RSOCKET_CONNECTED || rnic_rsocket_flow_is_idle(&stream->flow);
}

/* Tells the peer, after all bytes that were sent before. */
static int rsocket_stream_tell(struct rnic_rsocket_stream *stream,
			       enum rnic_rsocket_control control, int64_t deadline_ns)
{
	struct rnic_rsocket *rs = &stream->rs;
	int error = rnic_rsocket_await(rs, can_tell, deadline_ns);

	if (error != 0 || stream->state != RNIC_RSOCKET_CONNECTED)
		return error;
	if (rnic_rsocket_flow_take_control(&stream->flow))
		error = rnic_rsocket_post_control(stream, control);
	return error;
}

static int64_t linger_deadline(const struct rnic_rsocket *rs)
{
	const int seconds = rs->options.linger_seconds;

	return rnic_rsocket_now_ns() + (seconds < 0 ? LINGER_NS : (int64_t)seconds * 1000000000);
}

/* Both directions are shut, or the connection cannot use them any more: the end. */
static int disconnect(struct rnic_rsocket_stream *stream)
{
	const int64_t deadline = linger_deadline(&stream->rs);
	int error = rsocket_stream_tell(stream, RNIC_RSOCKET_DISCONNECT, deadline);

	/* Bytes that have not arrived go with the queue pair. */
	if (error == 0)
		error = rnic_rsocket_await(&stream->rs, rsocket_stream_is_sent, deadline);
	rnic_rsocket_end(stream, 0);
	rdma_disconnect(stream->id);
	rnic_rsocket_ring(&stream->rs);
	return error == -EAGAIN || error == -EINTR ? 0 : error;
}

static int rsocket_stream_shut_down(struct rnic_rsocket *rs, int how)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	rs->kind->progress(rs);
	if (stream->state == RNIC_RSOCKET_ENDED)
		return 0;
	if (stream->state != RNIC_RSOCKET_CONNECTED)
		return -ENOTCONN;
	if (how != SHUT_WR)
		stream->is_readable = false;
	if (how != SHUT_RD && stream->is_writable) {
		stream->is_writable = false;
		if (stream->is_readable)
			return rsocket_stream_tell(stream, RNIC_RSOCKET_SHUTDOWN,
						   linger_deadline(rs));
	}
	rnic_rsocket_ring(rs);
	return stream->is_readable || stream->is_writable ? 0 : disconnect(stream);
}

static void close_stream(struct rnic_rsocket *rs)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	if (rs->options.keeps_alive)
		rnic_rsocket_keep_alive(rs, 0);
	rnic_rsocket_unserve(stream);
	rnic_rsocket_lock(rs);
	if (stream->state == RNIC_RSOCKET_CONNECTED)
		rsocket_stream_shut_down(rs, SHUT_RDWR);
	rs->is_closed = true;
	rnic_rsocket_ring(rs);
	rnic_rsocket_unlock(rs);
	rnic_rsocket_refuse_accepted(stream);
}

/* --- names and options ----------------------------------------------------------------------- */

static int rsocket_stream_name(struct rnic_rsocket *rs, bool is_peer,
			       struct sockaddr_storage *address)
{
	const struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);
	const struct rdma_addr *names = &stream->id->route.addr;

	if (is_peer &&
	    (names->dst_addr.sa_family == AF_UNSPEC || stream->state == RNIC_RSOCKET_IDLE ||
	     stream->state == RNIC_RSOCKET_LISTENING))
		return -ENOTCONN;
	if (is_peer)
		*address = names->dst_storage;
	else
		*address = names->src_storage;
	if (address->ss_family == AF_UNSPEC)
		address->ss_family = (sa_family_t)rs->domain;
	return 0;
}

#define EXACTLY 0x80 /* selector of MTU, rate and lifetime: neither more nor less */

static int path(const struct rnic_rsocket *rs, struct ibv_path_data *path)
{
	const struct rdma_route *route = &rnic_rsocket_stream(rs)->id->route;
	const struct ibv_sa_path_rec *from = route->path_rec;

	if (route->num_paths == 0)
		return -ENOTCONN;
	*path = (struct ibv_path_data){
		.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL,
		.path =
			{
				.dgid = from->dgid,
				.sgid = from->sgid,
				.dlid = from->dlid,
				.slid = from->slid,
				.flowlabel_hoplimit =
					htonl(ntohl(from->flow_label) << 8 | from->hop_limit),
				.tclass = from->traffic_class,
				.reversible_numpath = 0x81, /* both ways, one path */
				.pkey = from->pkey,
				.qosclass_sl = htons(from->sl),
				.mtu = EXACTLY | from->mtu,
				.rate = EXACTLY | from->rate,
				.packetlifetime = EXACTLY | from->packet_life_time,
			},
	};
	return 0;
}

static const struct {
	int level, name, option;
	bool is_byte; /* there; here all are int */
} told[] = {
	{SOL_SOCKET, SO_REUSEADDR, RDMA_OPTION_ID_REUSEADDR, false},
	{IPPROTO_IPV6, IPV6_V6ONLY, RDMA_OPTION_ID_AFONLY, false},
	{IPPROTO_IP, IP_TOS, RDMA_OPTION_ID_TOS, true},
};

static int rsocket_stream_tell_option(struct rnic_rsocket *rs, int level, int name,
				      const void *value, socklen_t bytes)
{
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		int number;
		uint8_t byte;

		if (told[i].level != level || told[i].name != name)
			continue;
		if (bytes < sizeof(number))
			return -EINVAL;
		memcpy(&number, value, sizeof(number));
		byte = (uint8_t)number;
		return rdma_set_option(rnic_rsocket_stream(rs)->id, RDMA_OPTION_ID, told[i].option,
				       told[i].is_byte ? (void *)&byte : (void *)&number,
				       told[i].is_byte ? sizeof(byte) : sizeof(number)) == 0
			       ? 0
			       : -errno;
	}
	return -ENOPROTOOPT;
}

/* --- making ---------------------------------------------------------------------------------- */

static const struct rnic_rsocket_kind stream_kind = {
	.bind = rnic_rsocket_stream_bind,
	.listen = rnic_rsocket_stream_listen,
	.accept = rnic_rsocket_stream_accept,
	.connect = rnic_rsocket_stream_connect,
	.shut_down = rsocket_stream_shut_down,
	.send = rnic_rsocket_stream_send,
	.receive = rnic_rsocket_stream_receive,
	.name = rsocket_stream_name,
	.path = path,
	.tell_option = rsocket_stream_tell_option,
	.close = close_stream,
	.destroy = rnic_rsocket_stream_destroy,
	.progress = rsocket_stream_progress,
	.events = rsocket_stream_events,
	.watch = rsocket_stream_watch,
	.device = rsocket_stream_device,
	.woke = rsocket_stream_woke,
};

int rnic_rsocket_create_stream(int domain, struct rnic_rsocket **created)
{
	struct rnic_rsocket *rs;
	struct rnic_rsocket_stream *stream;
	int error = rnic_rsocket_stream_create(&stream_kind, domain, rnic_rsocket_default_options(),
					       &rs);

	if (error != 0)
		return error;
	stream = rnic_rsocket_stream(rs);
	if (rdma_create_id(stream->channel, &stream->id, stream, RDMA_PS_TCP) != 0) {
		error = -errno;
		rnic_rsocket_stream_destroy(rs);
		return error;
	}
	rnic_cma_close_at_once(stream->id);
	*created = rs;
	return 0;
}
