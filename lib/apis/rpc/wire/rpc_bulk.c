/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_bulk.h"

#include "lib/apis/rpc/wire/rpc_bytes.h"

#include <errno.h>

enum {
	AT_LIMIT = 0,
	AT_SLOTS = 4,
	AT_SLOT_BYTES = 8,
	AT_RKEY = 12,
	AT_ADDRESS = 16,
	AT_NUMBER = 0,
	AT_BYTES = 4,
};

uint64_t rpc_bulk_total(const struct rpc_frame *frame)
{
	return frame->payload_bytes == RPC_TOTAL_BYTES ? rpc_read64(frame->payload) : 0;
}

void rpc_bulk_write_total(uint8_t payload[RPC_TOTAL_BYTES], uint64_t total)
{
	rpc_write64(payload, total);
}

static struct rpc_grant read_grant(const uint8_t *payload)
{
	return (struct rpc_grant){
		.limit = rpc_read32(payload + AT_LIMIT),
		.slots = rpc_read32(payload + AT_SLOTS),
		.slot_bytes = rpc_read32(payload + AT_SLOT_BYTES),
		.rkey = rpc_read32(payload + AT_RKEY),
		.address = rpc_read64(payload + AT_ADDRESS),
	};
}

static bool check_grant(const struct rpc_grant *grant)
{
	return grant->slots > 0 && grant->slots <= RPC_SLOTS_MAX && grant->slot_bytes > 0 &&
	       grant->slot_bytes <= RPC_SLOT_MAX_BYTES;
}

static bool is_same_memory(const struct rpc_grant *a, const struct rpc_grant *b)
{
	return a->slots == b->slots && a->slot_bytes == b->slot_bytes && a->rkey == b->rkey &&
	       a->address == b->address;
}

int rpc_bulk_sender_grant(struct rpc_bulk_sender *sender, const struct rpc_frame *frame)
{
	bool is_first = sender->grant.slots == 0;
	struct rpc_grant grant;

	if (frame->payload_bytes != RPC_GRANT_BYTES)
		return -EPROTO;
	grant = read_grant(frame->payload);
	if (!check_grant(&grant) || (!is_first && !is_same_memory(&grant, &sender->grant)))
		return -EPROTO;
	/* The limit is not below the chunks that were sent, and at most the slots beyond them. */
	if (grant.limit - sender->next > grant.slots)
		return -EPROTO;
	sender->grant = grant;
	return 0;
}

uint64_t rpc_bulk_offered_bytes(const struct rpc_frame *frame)
{
	struct rpc_grant grant;

	if (frame->payload_bytes != RPC_GRANT_BYTES)
		return 0;
	grant = read_grant(frame->payload);
	if (grant.address == 0 || !check_grant(&grant))
		return 0;
	return (uint64_t)grant.slots * grant.slot_bytes;
}

bool rpc_bulk_sender_may_send(const struct rpc_bulk_sender *sender)
{
	return sender->next != sender->grant.limit;
}

uint32_t rpc_bulk_sender_chunk(struct rpc_bulk_sender *sender, uint32_t bytes,
			       uint8_t head[RPC_CHUNK_HEAD_BYTES])
{
	rpc_write32(head + AT_NUMBER, sender->next);
	rpc_write32(head + AT_BYTES, bytes);
	return sender->next++;
}

void rpc_bulk_receiver_init(struct rpc_bulk_receiver *receiver, const struct rpc_grant *memory)
{
	*receiver = (struct rpc_bulk_receiver){.grant = *memory};
	receiver->grant.limit = 0;
}

void rpc_bulk_receiver_grant(struct rpc_bulk_receiver *receiver, uint8_t payload[RPC_GRANT_BYTES])
{
	receiver->grant.limit = receiver->next + receiver->grant.slots;
	rpc_write32(payload + AT_LIMIT, receiver->grant.limit);
	rpc_write32(payload + AT_SLOTS, receiver->grant.slots);
	rpc_write32(payload + AT_SLOT_BYTES, receiver->grant.slot_bytes);
	rpc_write32(payload + AT_RKEY, receiver->grant.rkey);
	rpc_write64(payload + AT_ADDRESS, receiver->grant.address);
}

bool rpc_bulk_receiver_owes_grant(const struct rpc_bulk_receiver *receiver, uint64_t left_bytes)
{
	uint32_t granted = receiver->grant.limit - receiver->next;

	return granted <= receiver->grant.slots / 2 &&
	       (uint64_t)granted * receiver->grant.slot_bytes < left_bytes;
}

int rpc_bulk_receiver_take(struct rpc_bulk_receiver *receiver, const struct rpc_frame *frame,
			   struct rpc_chunk *chunk)
{
	bool is_written = receiver->grant.address != 0;
	struct rpc_chunk found;

	if (frame->payload_bytes < RPC_CHUNK_HEAD_BYTES)
		return -EPROTO;
	found = (struct rpc_chunk){
		.number = rpc_read32(frame->payload + AT_NUMBER),
		.bytes = rpc_read32(frame->payload + AT_BYTES),
		.data = is_written ? NULL : frame->payload + RPC_CHUNK_HEAD_BYTES,
	};
	if (found.number != receiver->next || found.number == receiver->grant.limit)
		return -EPROTO;
	if (found.bytes == 0 || found.bytes > receiver->grant.slot_bytes)
		return -EPROTO;
	if (frame->payload_bytes - RPC_CHUNK_HEAD_BYTES != (is_written ? 0 : found.bytes))
		return -EPROTO;
	receiver->next++;
	*chunk = found;
	return 0;
}
