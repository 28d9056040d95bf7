/* SPDX-License-Identifier: MIT */
/* The work requests of a stream: posting them, and the meaning of their completions. */
#include "lib/dropin/rsockets/rsocket_stream.h"

#include <arpa/inet.h>
#include <errno.h>

#define BATCH 16u

static uint64_t work_id(enum rnic_rsocket_work work, uint32_t bytes)
{
	return (uint64_t)work << 32 | bytes;
}

/* --- posting --------------------------------------------------------------------------------- */

int rnic_rsocket_post_receives(struct rnic_rsocket_stream *stream, uint32_t count)
{
	while (count > 0) {
		struct ibv_recv_wr requests[BATCH], *bad;
		const uint32_t now = count < BATCH ? count : BATCH;
		int error;

		for (uint32_t i = 0; i < now; i++)
			requests[i] = (struct ibv_recv_wr){
				.wr_id = work_id(RNIC_RSOCKET_WORK_RECEIVE, 0),
				.next = i + 1 < now ? &requests[i + 1] : NULL,
			};
		error = ibv_post_recv(stream->id->qp, requests, &bad);
		if (error != 0)
			return -error;
		count -= now;
	}
	return 0;
}

static int rsocket_work_post(struct rnic_rsocket_stream *stream, struct ibv_send_wr *request)
{
	struct ibv_send_wr *bad;
	int error = ibv_post_send(stream->id->qp, request, &bad);

	if (error != 0)
		rnic_rsocket_end(stream, ECONNRESET);
	return -error;
}

int rnic_rsocket_post_write(struct rnic_rsocket_stream *stream,
			    const struct rnic_rsocket_write *write, bool has_message)
{
	const uint32_t bytes = write->bytes[0] + write->bytes[1];
	struct ibv_sge pieces[2];
	struct ibv_send_wr request = {
		.wr_id = work_id(RNIC_RSOCKET_WORK_DATA, bytes),
		.sg_list = pieces,
		.num_sge = write->bytes[1] > 0 ? 2 : 1,
		.opcode = has_message ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		.send_flags = bytes <= stream->inline_bytes ? IBV_SEND_INLINE : 0,
		.imm_data = htonl(write->message),
		.wr.rdma = {.remote_addr = write->address, .rkey = write->key},
	};

	for (int i = 0; i < 2; i++)
		pieces[i] = (struct ibv_sge){
			.addr = (uintptr_t)stream->buffers.send_ring + write->at[i],
			.length = write->bytes[i],
			.lkey = stream->buffers.send_mr->lkey,
		};
	return rsocket_work_post(stream, &request);
}

/* A message with an entry for the peer's memory, `to`, which is small enough to go inline. */
static int post_entry(struct rnic_rsocket_stream *stream, enum rnic_rsocket_work work,
		      uint32_t message, const uint8_t *entry, const struct rnic_rsocket_target *to)
{
	struct ibv_sge piece = {.addr = (uintptr_t)entry, .length = to->length};
	struct ibv_send_wr request = {
		.wr_id = work_id(work, 0),
		.sg_list = &piece,
		.num_sge = to->length > 0 ? 1 : 0,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = to->length > 0 ? IBV_SEND_INLINE : 0,
		.imm_data = htonl(message),
		.wr.rdma = {.remote_addr = to->address, .rkey = to->key},
	};

	return rsocket_work_post(stream, &request);
}

int rnic_rsocket_post_mapping(struct rnic_rsocket_stream *stream,
			      const struct rnic_rsocket_region *region)
{
	const struct rnic_rsocket_mapping mapping = {
		.offset = region->offset,
		.target =
			{
				.address = (uintptr_t)region->mr->addr,
				.key = region->mr->rkey,
				.length = (uint32_t)region->mr->length,
			},
	};
	const struct rnic_rsocket_target to = {
		.address = stream->peer_iomap.address +
			   (uint64_t)region->index * RNIC_RSOCKET_MAPPING_BYTES,
		.key = stream->peer_iomap.key,
		.length = RNIC_RSOCKET_MAPPING_BYTES,
	};
	uint8_t entry[RNIC_RSOCKET_MAPPING_BYTES];

	rnic_rsocket_mapping_encode(&mapping, stream->flow.is_swapped, entry);
	rnic_rsocket_flow_write_mapping(&stream->flow);
	return post_entry(stream, RNIC_RSOCKET_WORK_MAPPING,
			  rnic_rsocket_message(RNIC_RSOCKET_IOMAP, (uint32_t)region->index), entry,
			  &to);
}

/* The caller has taken the request for it. A keepalive is a WRITE that the peer does not notice. */
int rnic_rsocket_post_control(struct rnic_rsocket_stream *stream, enum rnic_rsocket_control control)
{
	struct ibv_send_wr request = {
		.wr_id = work_id(RNIC_RSOCKET_WORK_CONTROL, 0),
		.opcode = control == RNIC_RSOCKET_KEEPALIVE ? IBV_WR_RDMA_WRITE
							    : IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl(rnic_rsocket_message(RNIC_RSOCKET_CONTROL, control)),
	};

	return rsocket_work_post(stream, &request);
}

void rnic_rsocket_tell_peer(struct rnic_rsocket_stream *stream)
{
	struct rnic_rsocket_update update;

	while (stream->state == RNIC_RSOCKET_CONNECTED &&
	       rnic_rsocket_flow_take_update(&stream->flow, &update)) {
		const struct rnic_rsocket_target to = {
			.address = update.address,
			.key = update.key,
			.length = update.has_target ? RNIC_RSOCKET_TARGET_BYTES : 0,
		};
		uint8_t entry[RNIC_RSOCKET_TARGET_BYTES];

		rnic_rsocket_target_encode(&update.target, stream->flow.is_swapped, entry);
		post_entry(stream, RNIC_RSOCKET_WORK_CONTROL, update.message, entry, &to);
	}
}

/* --- completions ----------------------------------------------------------------------------- */

static void take_buffers(struct rnic_rsocket_stream *stream)
{
	for (;;) {
		volatile uint8_t *at = stream->buffers.list +
				       (size_t)stream->flow.next_entry * RNIC_RSOCKET_TARGET_BYTES;
		const struct rnic_rsocket_target entry = rnic_rsocket_target_read(at);

		if (!rnic_rsocket_flow_take_buffer(&stream->flow, &entry))
			return;
		/*
		 * Before the first byte goes there, because after it the peer may write the entry
		 * anew.
		 */
		((volatile uint32_t *)(volatile void *)at)[3] = 0;
	}
}

static void take_mapping(struct rnic_rsocket_stream *stream, uint32_t index)
{
	volatile uint8_t *map =
		stream->buffers.list + RNIC_RSOCKET_LIST_ENTRIES * RNIC_RSOCKET_TARGET_BYTES;

	if (index < stream->iomap_entries)
		stream->mappings[index] =
			rnic_rsocket_mapping_read(map + (size_t)index * RNIC_RSOCKET_MAPPING_BYTES);
}

static void take_control(struct rnic_rsocket_stream *stream, uint32_t control)
{
	const bool is_half_close = control == RNIC_RSOCKET_SHUTDOWN && stream->is_writable;

	if (is_half_close)
		stream->is_readable = false;
	else if (control == RNIC_RSOCKET_DISCONNECT || control == RNIC_RSOCKET_SHUTDOWN)
		rnic_rsocket_end(stream, 0);
}

static void rsocket_work_take_message(struct rnic_rsocket_stream *stream, uint32_t message)
{
	const uint32_t value = rnic_rsocket_message_value(message);

	/*
	 * A peer that sends has got the answer, though the confirmation of that may still be on its
	 * way.
	 */
	if (stream->state == RNIC_RSOCKET_ACCEPTING)
		rnic_rsocket_stand(stream);
	if (stream->state != RNIC_RSOCKET_CONNECTED)
		return;
	if (rnic_rsocket_flow_receive(&stream->flow, message) != 0) {
		rnic_rsocket_end(stream, EPROTO);
		return;
	}
	switch (rnic_rsocket_message_kind(message)) {
	case RNIC_RSOCKET_DATA:
		break;
	case RNIC_RSOCKET_CREDIT:
		take_buffers(stream);
		break;
	case RNIC_RSOCKET_IOMAP:
		take_mapping(stream, value);
		break;
	case RNIC_RSOCKET_CONTROL:
		take_control(stream, value);
		break;
	}
}

static void take_sent(struct rnic_rsocket_stream *stream, enum rnic_rsocket_work work,
		      uint32_t bytes)
{
	static const enum rnic_rsocket_request requests[] = {
		[RNIC_RSOCKET_WORK_DATA] = RNIC_RSOCKET_REQUEST_DATA,
		[RNIC_RSOCKET_WORK_MAPPING] = RNIC_RSOCKET_REQUEST_MAPPING,
		[RNIC_RSOCKET_WORK_CONTROL] = RNIC_RSOCKET_REQUEST_CONTROL,
	};

	rnic_rsocket_flow_sent(&stream->flow, requests[work], bytes);
}

/* True: the completion used a receive up, and the caller posts it again. */
static bool take_completion(struct rnic_rsocket_stream *stream, const struct ibv_wc *completion)
{
	const enum rnic_rsocket_work work = (enum rnic_rsocket_work)(completion->wr_id >> 32);
	const bool is_receive = work == RNIC_RSOCKET_WORK_RECEIVE;

	if (!is_receive)
		take_sent(stream, work, (uint32_t)completion->wr_id);
	if (completion->status != IBV_WC_SUCCESS) {
		if (stream->state == RNIC_RSOCKET_CONNECTED)
			rnic_rsocket_end(stream, completion->status == IBV_WC_RETRY_EXC_ERR
							 ? ETIMEDOUT
							 : ECONNRESET);
		return false;
	}
	if (!is_receive)
		return false;
	rsocket_work_take_message(stream, ntohl(completion->imm_data));
	return true;
}

static int take_batch(struct rnic_rsocket_stream *stream)
{
	struct ibv_wc completions[BATCH];
	const int count = ibv_poll_cq(stream->cq, BATCH, completions);
	uint32_t used = 0;

	for (int i = 0; i < count; i++)
		used += take_completion(stream, &completions[i]);
	if (count > 0)
		stream->has_news = true;
	if (used > 0 && stream->state == RNIC_RSOCKET_CONNECTED &&
	    rnic_rsocket_post_receives(stream, used) != 0)
		rnic_rsocket_end(stream, ECONNRESET);
	return count;
}

void rnic_rsocket_take_completions(struct rnic_rsocket_stream *stream)
{
	int count;

	if (stream->cq == NULL)
		return;
	do {
		count = take_batch(stream);
	} while (count == (int)BATCH);
	if (count < 0 && stream->state == RNIC_RSOCKET_CONNECTED)
		rnic_rsocket_end(stream, ECONNRESET);
	rnic_rsocket_tell_peer(stream);
}
