/* SPDX-License-Identifier: MIT */
/* The memory of a stream, with what belongs to the stream from the beginning to the end. */
#include "lib/dropin/rsockets/rsocket_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

/*
 * A signal handler that sends while its own thread sends gets an error, and does not wait for
 * itself.
 */
static void init_turns(struct rnic_rsocket_stream *stream)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&stream->sending, &attributes);
	pthread_mutex_init(&stream->receiving, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

int rnic_rsocket_stream_create(const struct rnic_rsocket_kind *kind, int domain,
			       const struct rnic_rsocket_options *options,
			       struct rnic_rsocket **created)
{
	struct rnic_rsocket_stream *stream = calloc(1, sizeof(*stream));
	int error;

	if (stream == NULL)
		return -ENOMEM;
	rnic_rsocket_init(&stream->rs, kind, domain, options);
	init_turns(stream);
	stream->channel = rdma_create_event_channel();
	if (stream->channel == NULL || fcntl(stream->channel->fd, F_SETFL, O_NONBLOCK) != 0) {
		error = -errno;
		rnic_rsocket_stream_destroy(&stream->rs);
		return error;
	}
	stream->rs.fd = stream->channel->fd;
	*created = &stream->rs;
	return 0;
}

void rnic_rsocket_stream_destroy(struct rnic_rsocket *rs)
{
	struct rnic_rsocket_stream *stream = rnic_rsocket_stream(rs);

	rnic_rsocket_endpoint_destroy(stream);
	if (stream->id != NULL)
		rdma_destroy_id(stream->id);
	if (stream->channel != NULL)
		rdma_destroy_event_channel(stream->channel);
	pthread_mutex_destroy(&stream->sending);
	pthread_mutex_destroy(&stream->receiving);
	rnic_rsocket_fini(rs);
	free(stream);
}
