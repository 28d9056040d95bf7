/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_receiver.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

size_t rpc_receiver_memory_bytes(uint32_t window_packets, uint32_t payload_bytes,
				 uint32_t max_message_bytes)
{
	return window_packets * (sizeof(struct rpc_slot) + payload_bytes) + max_message_bytes;
}

void rpc_receiver_init(struct rpc_receiver *receiver, uint32_t window_packets,
		       uint32_t payload_bytes, uint32_t max_message_bytes, void *memory)
{
	struct rpc_slot *slots = memory;
	uint8_t *fragments = (uint8_t *)(slots + window_packets);

	memset(slots, 0, window_packets * sizeof(*slots));
	*receiver = (struct rpc_receiver){
		.slots = slots,
		.fragments = fragments,
		.assembly = fragments + (size_t)window_packets * payload_bytes,
		.window_packets = window_packets,
		.largest_window = window_packets,
		.payload_bytes = payload_bytes,
		.largest_bytes = payload_bytes,
		.max_message_bytes = max_message_bytes,
	};
}

void rpc_receiver_agree(struct rpc_receiver *receiver, uint32_t window_packets,
			uint32_t payload_bytes, uint32_t part_bytes)
{
	assert(window_packets <= receiver->largest_window);
	assert(payload_bytes <= receiver->largest_bytes);
	assert(part_bytes == 0 || payload_bytes <= RPC_PARTS_MAX * part_bytes);
	receiver->window_packets = window_packets;
	receiver->payload_bytes = payload_bytes;
	receiver->part_bytes = part_bytes;
}

void rpc_receiver_start(struct rpc_receiver *receiver, uint32_t first_sequence)
{
	receiver->taken = first_sequence;
	receiver->cumulative = first_sequence;
	receiver->end = first_sequence;
	receiver->told = first_sequence;
}

static uint32_t index_of(const struct rpc_receiver *receiver, uint32_t sequence)
{
	return sequence & (receiver->window_packets - 1);
}

static uint8_t *fragment_of(const struct rpc_receiver *receiver, uint32_t sequence)
{
	return receiver->fragments + (size_t)index_of(receiver, sequence) * receiver->payload_bytes;
}

static bool is_same_fragment(const struct rpc_slot *a, const struct rpc_slot *b)
{
	return a->message == b->message && a->offset == b->offset && a->total == b->total;
}

/*
 * Fills in the fragment to which the packet belongs, and what of it has arrived with the packet;
 * `slot` has what had arrived before. -EPROTO: neither a fragment nor a part.
 */
static int note_arrival(const struct rpc_receiver *receiver, const struct rpc_packet *packet,
			const struct rpc_slot *slot, struct rpc_slot *fragment)
{
	const uint32_t part_bytes = receiver->part_bytes;
	const uint32_t at = packet->offset % receiver->payload_bytes;
	const uint32_t left = packet->total - (packet->offset - at);
	const uint32_t bytes = left < receiver->payload_bytes ? left : receiver->payload_bytes;
	const uint32_t parts = (bytes + part_bytes - 1) / part_bytes;

	*fragment = (struct rpc_slot){
		.bytes = (uint16_t)bytes,
		.message = packet->message,
		.offset = packet->offset - at,
		.total = packet->total,
	};
	if (at == 0 && packet->payload_bytes == bytes) {
		fragment->is_full = true;
		return 0;
	}
	if (at % part_bytes != 0 ||
	    packet->payload_bytes != (bytes - at < part_bytes ? bytes - at : part_bytes) ||
	    (slot->parts != 0 && !is_same_fragment(slot, fragment)))
		return -EPROTO;
	fragment->parts = slot->parts | UINT64_C(1) << at / part_bytes;
	fragment->is_full = fragment->parts == UINT64_MAX >> (RPC_PARTS_MAX - parts);
	return 0;
}

static int rpc_receiver_join(struct rpc_receiver *receiver, const struct rpc_slot *slot,
			     const uint8_t *fragment)
{
	if (!receiver->is_joining) {
		if (slot->total > receiver->max_message_bytes)
			return -EMSGSIZE;
		receiver->is_joining = true;
		receiver->message = slot->message;
		receiver->total = slot->total;
		receiver->joined_bytes = 0;
	}
	if (slot->message != receiver->message || slot->total != receiver->total ||
	    slot->offset != receiver->joined_bytes)
		return -EPROTO;
	memcpy(receiver->assembly + receiver->joined_bytes, fragment, slot->bytes);
	receiver->joined_bytes += slot->bytes;
	return 0;
}

static void note_joined(struct rpc_receiver *receiver)
{
	receiver->taken++;
	receiver->is_whole = receiver->joined_bytes == receiver->total;
	receiver->is_joining = !receiver->is_whole;
}

/* Saves a copy. What does not fit its message is kept instead, and refused when its turn comes. */
static bool try_join_at_once(struct rpc_receiver *receiver, const struct rpc_packet *packet,
			     const struct rpc_slot *fragment)
{
	if (!fragment->is_full || fragment->parts != 0 || packet->sequence != receiver->taken ||
	    receiver->is_whole || receiver->is_lent ||
	    rpc_receiver_join(receiver, fragment, packet->payload) != 0)
		return false;
	note_joined(receiver);
	return true;
}

int rpc_receiver_accept(struct rpc_receiver *receiver, const struct rpc_packet *packet)
{
	struct rpc_slot *slot = &receiver->slots[index_of(receiver, packet->sequence)];
	struct rpc_slot fragment = {
		.is_full = true,
		.bytes = packet->payload_bytes,
		.message = packet->message,
		.offset = packet->offset,
		.total = packet->total,
	};

	if (packet->payload_bytes > receiver->payload_bytes)
		return -EPROTO;
	if (packet->sequence - receiver->taken >= receiver->window_packets || slot->is_full)
		return 0;
	if (receiver->part_bytes != 0 && note_arrival(receiver, packet, slot, &fragment) != 0)
		return -EPROTO;
	if (try_join_at_once(receiver, packet, &fragment)) {
		*slot = (struct rpc_slot){0};
		receiver->cumulative = receiver->taken;
	} else {
		*slot = fragment;
		memcpy(fragment_of(receiver, packet->sequence) + (packet->offset - fragment.offset),
		       packet->payload, packet->payload_bytes);
	}
	if (fragment.is_full && rpc_before(receiver->end, packet->sequence + 1))
		receiver->end = packet->sequence + 1;
	while (receiver->cumulative - receiver->taken < receiver->window_packets &&
	       receiver->slots[index_of(receiver, receiver->cumulative)].is_full)
		receiver->cumulative++;
	return 0;
}

int rpc_receiver_take(struct rpc_receiver *receiver, const uint8_t **bytes, uint32_t *length)
{
	receiver->is_lent = false;
	while (!receiver->is_whole && receiver->taken != receiver->cumulative) {
		struct rpc_slot *slot = &receiver->slots[index_of(receiver, receiver->taken)];
		int error =
			rpc_receiver_join(receiver, slot, fragment_of(receiver, receiver->taken));

		if (error)
			return error;
		*slot = (struct rpc_slot){0};
		note_joined(receiver);
	}
	if (!receiver->is_whole)
		return 0;
	receiver->is_whole = false;
	receiver->is_lent = true;
	*bytes = receiver->assembly;
	*length = receiver->total;
	return 1;
}

void rpc_receiver_report(struct rpc_receiver *receiver, struct rpc_packet *packet)
{
	uint64_t selective = 0;

	for (uint32_t bit = 0; bit < 64; bit++) {
		uint32_t sequence = receiver->cumulative + 1 + bit;

		if (!rpc_before(sequence, receiver->end))
			break;
		if (receiver->slots[index_of(receiver, sequence)].is_full)
			selective |= UINT64_C(1) << bit;
	}
	packet->cumulative = receiver->cumulative;
	packet->selective = selective;
	packet->credit = receiver->taken + receiver->window_packets;
	receiver->told = receiver->taken;
}

bool rpc_receiver_has_news(const struct rpc_receiver *receiver)
{
	return receiver->taken - receiver->told >= receiver->window_packets / 2;
}
