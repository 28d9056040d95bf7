/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as datagrams of an RPC conversation, each after two bytes with its length, and the
 * calls that the conversation reads from them. A datagram that decodes is encoded to the same bytes
 * again. The seeds are conversations of a client that opens, calls and closes.
 */
#include "lib/apis/rpc/wire/rpc_bulk.h"
#include "lib/apis/rpc/wire/rpc_conversation.h"
#include "lib/apis/rpc/wire/rpc_frame.h"
#include "tests/fuzz/fuzz_seeds.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rpc_conversation_self self = {.connection = 1, .first_sequence = 1};
static struct rpc_conversation conversation;
static uint64_t now_ns;

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Grants never exceed the slots, and a chunk fits its slot. */
static void check_bulk(const struct rpc_frame *frame)
{
	static const struct rpc_grant memory = {.slots = 4, .slot_bytes = 64};
	struct rpc_bulk_sender sender = {0};
	struct rpc_bulk_receiver receiver;
	uint8_t grant[RPC_GRANT_BYTES];
	struct rpc_chunk chunk;

	if (rpc_bulk_sender_grant(&sender, frame) == 0)
		require(sender.grant.limit <= sender.grant.slots &&
			sender.grant.slots <= RPC_SLOTS_MAX);
	rpc_bulk_receiver_init(&receiver, &memory);
	rpc_bulk_receiver_grant(&receiver, grant);
	if (rpc_bulk_receiver_take(&receiver, frame, &chunk) == 0)
		require(chunk.number == 0 && chunk.bytes > 0 && chunk.bytes <= memory.slot_bytes &&
			chunk.data + chunk.bytes == frame->payload + frame->payload_bytes);
}

static void check_frame(const uint8_t *bytes, uint32_t length)
{
	struct rpc_frame frame;
	uint8_t *again;

	if (rpc_frame_decode(&frame, bytes, length) != 0)
		return;
	require(rpc_frame_bytes(&frame) == length);
	check_bulk(&frame);
	again = malloc(length);
	require(again != NULL);
	rpc_frame_encode(&frame, again);
	require(memcmp(again, bytes, length) == 0);
	free(again);
}

static void push(struct rpc_packet *packet, void *memory)
{
	uint8_t answer[RPC_DATAGRAM_MAX_BYTES];
	const uint8_t *bytes;
	uint32_t length, count = 0;

	if (conversation.config.dead_ns == 0 && packet->kind == RPC_PACKET_OPEN)
		rpc_conversation_accept(&conversation, &rpc_conversation_defaults, &self, packet,
					memory, now_ns);
	if (conversation.config.dead_ns == 0)
		return;
	rpc_conversation_receive(&conversation, packet, now_ns);
	while (rpc_conversation_take(&conversation, &bytes, &length))
		check_frame(bytes, length);
	while (rpc_conversation_transmit(&conversation, answer, now_ns) > 0)
		require(++count < 4 * RPC_WINDOW_PACKETS);
	now_ns += 1000000;
	rpc_conversation_tick(&conversation, now_ns);
}

/* Every packet of the datagram that the decoder takes encodes to the same bytes. */
static void push_all(const uint8_t *data, size_t size, void *memory)
{
	uint8_t again[RPC_DATAGRAM_MAX_BYTES];
	struct rpc_packet packet;
	int bytes;

	while ((bytes = rpc_packet_decode(&packet, data, size)) > 0) {
		require((size_t)bytes <= size);
		require(rpc_packet_encode(&packet, again, sizeof(again)) == bytes);
		require(memcmp(again, data, (size_t)bytes) == 0);
		push(&packet, memory);
		data += bytes;
		size -= (size_t)bytes;
	}
}

/* --- seeds ------------------------------------------------------------------------------------ */

struct input {
	uint8_t *bytes;
	size_t length;
	uint32_t sequence; /* of the next DATA */
};

static void seed_packet(struct input *input, const struct rpc_packet *packet)
{
	uint8_t *datagram = input->bytes + input->length + 2;
	const int bytes =
		rpc_packet_encode(packet, datagram, FUZZ_SEED_BYTES_MAX - input->length - 2);

	require(bytes > 0);
	datagram[-2] = (uint8_t)(bytes >> 8);
	datagram[-1] = (uint8_t)bytes;
	input->length += 2 + (size_t)bytes;
}

static void seed_frame(struct input *input, const struct rpc_frame *frame)
{
	uint8_t message[128];
	const size_t bytes = rpc_frame_bytes(frame);
	const struct rpc_packet packet = {
		.kind = RPC_PACKET_DATA,
		.to = self.connection,
		.from = 2,
		.sequence = input->sequence,
		.cumulative = self.first_sequence,
		.credit = self.first_sequence + 8,
		.message = input->sequence - 1,
		.total = (uint32_t)bytes,
		.payload_bytes = (uint16_t)bytes,
		.payload = message,
	};

	require(bytes <= sizeof(message));
	rpc_frame_encode(frame, message);
	input->sequence++;
	seed_packet(input, &packet);
}

/* A grant or a chunk of a body. */
static void seed_bulk(struct input *input)
{
	static const struct rpc_grant memory = {.slots = 4, .slot_bytes = 64};
	struct rpc_bulk_receiver receiver;
	struct rpc_bulk_sender sender = {0};
	struct rpc_frame frame = {.kind = RPC_FRAME_GRANT, .call = 1};
	uint8_t grant[RPC_GRANT_BYTES], chunk[RPC_CHUNK_HEAD_BYTES + 8] = {0};

	rpc_bulk_receiver_init(&receiver, &memory);
	rpc_bulk_receiver_grant(&receiver, grant);
	frame.payload = grant;
	frame.payload_bytes = sizeof(grant);
	seed_frame(input, &frame);
	rpc_bulk_sender_chunk(&sender, 8, chunk);
	frame = (struct rpc_frame){.kind = RPC_FRAME_CHUNK, .call = 1};
	frame.payload = chunk;
	frame.payload_bytes = sizeof(chunk);
	seed_frame(input, &frame);
}

size_t fuzz_seed(uint32_t number, uint8_t out[FUZZ_SEED_BYTES_MAX])
{
	static const uint8_t identity[RPC_IDENTITY_BYTES] = {1};
	struct input input = {.bytes = out, .sequence = 1};
	struct rpc_packet packet = {
		.kind = RPC_PACKET_OPEN,
		.from = 2,
		.sequence = input.sequence,
		.credit = (number & 1) != 0 ? RPC_DATAGRAM_MAX_BYTES : 0, /* what it offers */
		.payload = identity,
		.payload_bytes = sizeof(identity),
	};
	struct rpc_frame request = {
		.kind = RPC_FRAME_REQUEST,
		.flags = (number & 2) != 0 ? RPC_FRAME_STREAM : 0,
		.service = "seed",
		.service_bytes = 4,
		.call = 1,
		.timeout_ms = 1000,
	};

	seed_packet(&input, &packet);
	seed_frame(&input, &request);
	if ((number & 4) != 0)
		seed_bulk(&input);
	packet = (struct rpc_packet){
		.kind = number >> 3 & 1 ? RPC_PACKET_PING : RPC_PACKET_ACK,
		.to = self.connection,
		.from = 2,
		.sequence = input.sequence,
		.cumulative = self.first_sequence,
		.selective = number >> 4,
		.credit = self.first_sequence + 8,
	};
	seed_packet(&input, &packet);
	packet.kind = RPC_PACKET_CLOSE;
	packet.code = RPC_CLOSE_DONE;
	if ((number & 16) != 0)
		seed_packet(&input, &packet);
	return input.length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void *memory;

	if (memory == NULL)
		memory = malloc(rpc_conversation_memory_bytes(&rpc_conversation_defaults));
	require(memory != NULL);
	memset(&conversation, 0, sizeof(conversation));
	now_ns = 1;
	while (size > 2) {
		size_t bytes = (size_t)data[0] << 8 | data[1];

		data += 2;
		size -= 2;
		if (bytes > size)
			bytes = size;
		push_all(data, bytes, memory);
		data += bytes;
		size -= bytes;
	}
	return 0;
}
