/* SPDX-License-Identifier: MIT */
/* The parts of a connection: the queue pair, its completions, and the memory behind it. */
#include "lib/dropin/rsockets/rsocket_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define REQUESTS_MIN   16u
#define REQUESTS_MAX   65534u /* the peer learns of it in 16 bits */
#define RING_MAX_BYTES (1u << 28)

static uint32_t clamp(uint32_t value, uint32_t least, uint32_t most)
{
	return value < least ? least : value > most ? most : value;
}

static size_t page_align(size_t bytes)
{
	return (bytes + 4095) & ~(size_t)4095;
}

/* --- memory ---------------------------------------------------------------------------------- */

static size_t list_bytes(const struct rnic_rsocket_stream *stream)
{
	return RNIC_RSOCKET_LIST_ENTRIES * RNIC_RSOCKET_TARGET_BYTES +
	       (size_t)stream->iomap_entries * RNIC_RSOCKET_MAPPING_BYTES;
}

static void limit_flow(struct rnic_rsocket_stream *stream,
		       const struct rnic_rsocket_options *options, uint32_t queue_max)
{
	struct rnic_rsocket_flow_limits *limits = &stream->flow.limits;

	if (queue_max > REQUESTS_MAX)
		queue_max = REQUESTS_MAX;
	limits->send_requests = clamp(options->send_requests, REQUESTS_MIN, queue_max) -
				RNIC_RSOCKET_CONTROL_REQUESTS;
	limits->receive_requests = clamp(options->receive_requests, REQUESTS_MIN, queue_max);
	limits->send_bytes =
		clamp(options->send_bytes, 2 * RNIC_RSOCKET_LOW_WATER_BYTES, RING_MAX_BYTES);
	limits->receive_bytes = clamp(options->receive_bytes, 2, RING_MAX_BYTES) & ~1u;
	stream->iomap_entries = options->iomap_entries;
}

static int register_memory(struct ibv_pd *pd, const volatile void *memory, size_t bytes, int access,
			   struct ibv_mr **mr)
{
	*mr = ibv_reg_mr(pd, (void *)memory, bytes, access);
	return *mr != NULL ? 0 : -errno;
}

/* Memory that the peer writes to is apart from memory that only this side writes to. */
static int create_buffers(struct rnic_rsocket_stream *stream)
{
	struct rnic_rsocket_buffers *buffers = &stream->buffers;
	const struct rnic_rsocket_flow_limits *limits = &stream->flow.limits;
	const size_t send_bytes = page_align(limits->send_bytes);
	const size_t receive_bytes = page_align(limits->receive_bytes);
	const int peer_writes = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_pd *pd = stream->id->pd;
	uint8_t *block;
	int error;

	buffers->block_bytes = send_bytes + receive_bytes + page_align(list_bytes(stream));
	block = mmap(NULL, buffers->block_bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return -errno;
	buffers->block = block;
	buffers->send_ring = block;
	buffers->receive_ring = block + send_bytes;
	buffers->list = block + send_bytes + receive_bytes;
	error = register_memory(pd, buffers->send_ring, limits->send_bytes, 0, &buffers->send_mr);
	if (error == 0)
		error = register_memory(pd, buffers->receive_ring, limits->receive_bytes,
					peer_writes, &buffers->receive_mr);
	if (error == 0)
		error = register_memory(pd, buffers->list, list_bytes(stream), peer_writes,
					&buffers->list_mr);
	if (error == 0 && stream->iomap_entries > 0) {
		stream->mappings = calloc(stream->iomap_entries, sizeof(*stream->mappings));
		error = stream->mappings != NULL ? 0 : -ENOMEM;
	}
	return error;
}

static void destroy_buffers(struct rnic_rsocket_stream *stream)
{
	struct rnic_rsocket_buffers *buffers = &stream->buffers;
	struct ibv_mr *mrs[] = {buffers->send_mr, buffers->receive_mr, buffers->list_mr};

	for (size_t i = 0; i < sizeof(mrs) / sizeof(mrs[0]); i++)
		if (mrs[i] != NULL)
			ibv_dereg_mr(mrs[i]);
	if (buffers->block != NULL)
		munmap(buffers->block, buffers->block_bytes);
	free(stream->mappings);
	stream->mappings = NULL;
	*buffers = (struct rnic_rsocket_buffers){0};
}

/* --- queues ---------------------------------------------------------------------------------- */

static int create_completions(struct rnic_rsocket_stream *stream)
{
	const struct rnic_rsocket_flow_limits *limits = &stream->flow.limits;
	const uint32_t entries =
		limits->send_requests + RNIC_RSOCKET_CONTROL_REQUESTS + limits->receive_requests;

	stream->completions = ibv_create_comp_channel(stream->id->verbs);
	if (stream->completions == NULL)
		return -errno;
	if (fcntl(stream->completions->fd, F_SETFL, O_NONBLOCK) != 0)
		return -errno;
	stream->cq = ibv_create_cq(stream->id->verbs, (int)entries, NULL, stream->completions, 0);
	return stream->cq != NULL ? 0 : -errno;
}

static int rsocket_endpoint_create_qp(struct rnic_rsocket_stream *stream)
{
	const struct rnic_rsocket_flow_limits *limits = &stream->flow.limits;
	const uint32_t wanted = stream->rs.options.inline_bytes;
	struct ibv_qp_init_attr attributes = {
		.send_cq = stream->cq,
		.recv_cq = stream->cq,
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap =
			{
				.max_send_wr =
					limits->send_requests + RNIC_RSOCKET_CONTROL_REQUESTS,
				.max_recv_wr = limits->receive_requests,
				.max_send_sge = 2,
				.max_recv_sge = 1,
				/* Entries of lists and maps have no other memory than this. */
				.max_inline_data = wanted > RNIC_RSOCKET_MAPPING_BYTES
							   ? wanted
							   : RNIC_RSOCKET_MAPPING_BYTES,
			},
	};

	if (rdma_create_qp(stream->id, NULL, &attributes) != 0)
		return -errno;
	stream->inline_bytes = wanted;
	return 0;
}

int rnic_rsocket_endpoint_create(struct rnic_rsocket_stream *stream)
{
	struct ibv_device_attr device;
	int error = -ibv_query_device(stream->id->verbs, &device);

	if (error != 0)
		return error;
	stream->rs.has_queues = true;
	limit_flow(stream, &stream->rs.options, (uint32_t)device.max_qp_wr);
	error = create_completions(stream);
	if (error == 0)
		error = rsocket_endpoint_create_qp(stream);
	if (error == 0)
		error = create_buffers(stream);
	if (error == 0) {
		struct rnic_rsocket_flow_limits limits = stream->flow.limits;

		limits.receive_address = (uintptr_t)stream->buffers.receive_ring;
		limits.receive_key = stream->buffers.receive_mr->rkey;
		rnic_rsocket_flow_init(&stream->flow, &limits);
		error = rnic_rsocket_post_receives(stream, limits.receive_requests);
	}
	if (error != 0)
		rnic_rsocket_endpoint_destroy(stream);
	return error;
}

void rnic_rsocket_endpoint_destroy(struct rnic_rsocket_stream *stream)
{
	if (stream->id != NULL && stream->id->qp != NULL)
		rdma_destroy_qp(stream->id);
	rnic_rsocket_release_regions(stream);
	destroy_buffers(stream);
	if (stream->cq != NULL)
		ibv_destroy_cq(stream->cq);
	if (stream->completions != NULL)
		ibv_destroy_comp_channel(stream->completions);
	stream->cq = NULL;
	stream->completions = NULL;
}

/* --- greetings ------------------------------------------------------------------------------- */

void rnic_rsocket_endpoint_greet(const struct rnic_rsocket_stream *stream,
				 uint8_t greeting[static RNIC_RSOCKET_GREETING_BYTES])
{
	struct rnic_rsocket_greeting ours = {
		.iomap_entries = stream->iomap_entries,
		.list =
			{
				.address = (uintptr_t)stream->buffers.list,
				.key = stream->buffers.list_mr->rkey,
				.length = RNIC_RSOCKET_LIST_ENTRIES,
			},
	};

	rnic_rsocket_flow_greet(&stream->flow, &ours);
	rnic_rsocket_greeting_encode(&ours, greeting);
}

int rnic_rsocket_endpoint_begin(struct rnic_rsocket_stream *stream, const void *greeting,
				size_t bytes)
{
	struct rnic_rsocket_greeting peer;
	int error = rnic_rsocket_greeting_decode(greeting, bytes, &peer);

	if (error != 0)
		return error;
	rnic_rsocket_flow_begin(&stream->flow, &peer);
	stream->peer_iomap = (struct rnic_rsocket_target){
		.address =
			peer.list.address + (uint64_t)peer.list.length * RNIC_RSOCKET_TARGET_BYTES,
		.key = peer.list.key,
		.length = peer.iomap_entries,
	};
	return 0;
}
