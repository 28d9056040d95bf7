/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/transport/bulk_transfer.h"

#include <errno.h>
#include <stdlib.h>

enum {
	WRITTEN_SLOTS = 4,
	WRITTEN_SLOT_BYTES = 256 << 10,
	LEAST_WRITTEN_SLOT_BYTES = 64 << 10,
	FRAME_SLOTS = 8,
};

/* --- out -------------------------------------------------------------------------------------- */

static int bulk_transfer_prepare(struct bulk_out *out, struct transport_route *route)
{
	const struct rpc_grant *grant = &out->sender.grant;
	const struct transport_calls *calls = route->transport->calls;
	size_t stage_bytes = (size_t)grant->slots * grant->slot_bytes;

	/* A chunk in a frame must fit into a message. */
	if (grant->address == 0 ? grant->slot_bytes > RPC_BODY_INLINE_BYTES
				: calls->open_ring == NULL)
		return -EPROTO;
	out->route = route;
	if (grant->address == 0)
		return 0;
	return calls->open_ring(route->transport, stage_bytes, false, &out->stage);
}

int bulk_out_grant(struct bulk_out *out, struct transport_route *route,
		   const struct rpc_frame *frame)
{
	int error = rpc_bulk_sender_grant(&out->sender, frame);

	if (error == 0 && out->route == NULL)
		error = bulk_transfer_prepare(out, route);
	return error;
}

static size_t slot_offset(const struct bulk_out *out, uint32_t number)
{
	return (size_t)(number % out->sender.grant.slots) * out->sender.grant.slot_bytes;
}

bool bulk_out_is_in_frames(const struct bulk_out *out)
{
	return out->stage == NULL;
}

static bool try_make_payload(struct bulk_out *out)
{
	size_t bytes = RPC_CHUNK_HEAD_BYTES;

	if (bulk_out_is_in_frames(out))
		bytes += out->sender.grant.slot_bytes;
	if (out->frame_payload == NULL)
		out->frame_payload = malloc(bytes);
	return out->frame_payload != NULL;
}

uint8_t *bulk_out_room(struct bulk_out *out, uint32_t *bytes)
{
	if (out->route == NULL || !rpc_bulk_sender_may_send(&out->sender))
		return NULL;
	if (out->stage != NULL && !out->route->transport->calls->can_write(out->route))
		return NULL;
	if (!try_make_payload(out))
		return NULL;
	*bytes = out->sender.grant.slot_bytes;
	return bulk_out_is_in_frames(out) ? out->frame_payload + RPC_CHUNK_HEAD_BYTES
					  : out->stage->memory + slot_offset(out, out->sender.next);
}

void bulk_out_rest(struct bulk_out *out)
{
	free(out->frame_payload);
	out->frame_payload = NULL;
}

static int write_chunk(struct bulk_out *out, uint32_t number, uint32_t bytes)
{
	const struct rpc_grant *grant = &out->sender.grant;
	size_t offset = slot_offset(out, number);

	return out->route->transport->calls->write(out->route, out->stage, offset, bytes,
						   grant->address + offset, grant->rkey);
}

int bulk_out_send(struct bulk_out *out, uint64_t call, uint32_t bytes, struct rpc_frame *frame)
{
	uint32_t number = rpc_bulk_sender_chunk(&out->sender, bytes, out->frame_payload);

	*frame = (struct rpc_frame){
		.kind = RPC_FRAME_CHUNK,
		.call = call,
		.payload = out->frame_payload,
		.payload_bytes = RPC_CHUNK_HEAD_BYTES + (out->stage == NULL ? bytes : 0),
	};
	return out->stage == NULL || bytes == 0 ? 0 : write_chunk(out, number, bytes);
}

uint64_t bulk_out_stage_bytes(const struct bulk_out *out)
{
	const struct rpc_grant *grant = &out->sender.grant;

	return out->stage == NULL ? 0 : (uint64_t)grant->slots * grant->slot_bytes;
}

void bulk_out_end(struct bulk_out *out)
{
	if (out->stage != NULL)
		out->stage->transport->calls->close_ring(out->stage);
	bulk_out_rest(out);
	*out = (struct bulk_out){0};
}

/* --- in --------------------------------------------------------------------------------------- */

int bulk_in_begin(struct bulk_in *in, struct transport *transport,
		  const struct rpc_conversation *conversation, uint64_t total)
{
	struct rpc_grant memory = {.slots = FRAME_SLOTS,
				   .slot_bytes = rpc_conversation_chunk_bytes(conversation)};
	int error = 0;

	*in = (struct bulk_in){0};
	if (transport->calls->open_ring != NULL) {
		memory.slots = WRITTEN_SLOTS;
		memory.slot_bytes = WRITTEN_SLOT_BYTES;
		while (total != 0 && memory.slot_bytes > LEAST_WRITTEN_SLOT_BYTES &&
		       total <= (uint64_t)memory.slot_bytes * WRITTEN_SLOTS / 2)
			memory.slot_bytes /= 2;
		error = transport->calls->open_ring(
			transport, (size_t)memory.slots * memory.slot_bytes, true, &in->ring);
	}
	if (error != 0)
		return error;
	if (in->ring != NULL) {
		memory.address = (uintptr_t)in->ring->memory;
		memory.rkey = rnic_mr_rkey(in->ring->mr);
	}
	rpc_bulk_receiver_init(&in->receiver, &memory);
	return 0;
}

void bulk_in_grant(struct bulk_in *in, uint64_t call, struct rpc_frame *frame)
{
	rpc_bulk_receiver_grant(&in->receiver, in->grant_payload);
	*frame = (struct rpc_frame){
		.kind = RPC_FRAME_GRANT,
		.call = call,
		.payload = in->grant_payload,
		.payload_bytes = RPC_GRANT_BYTES,
	};
}

int bulk_in_take(struct bulk_in *in, const struct rpc_frame *frame, struct rpc_chunk *chunk)
{
	const struct rpc_grant *grant = &in->receiver.grant;
	int error = rpc_bulk_receiver_take(&in->receiver, frame, chunk);

	if (error == 0 && in->ring != NULL)
		chunk->data = in->ring->memory +
			      (size_t)(chunk->number % grant->slots) * grant->slot_bytes;
	return error;
}

void bulk_in_end(struct bulk_in *in)
{
	if (in->ring != NULL)
		in->ring->transport->calls->close_ring(in->ring);
	*in = (struct bulk_in){0};
}
