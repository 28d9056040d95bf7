/* SPDX-License-Identifier: MIT */
#include "tests/unit/proto/wire/packet_maker.h"

#include "proto/wire/gid.h"

#include <string.h>

/* xorshift64* */
uint64_t maker_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint32_t random_bits(uint64_t *state, int bits)
{
	return (uint32_t)(maker_random(state) >> (64 - bits));
}

static void random_fill(uint64_t *state, uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)random_bits(state, 8);
}

struct rnic_addresses maker_addresses(uint64_t *state, bool ipv4)
{
	struct rnic_addresses addresses = {
		.source_port = (uint16_t)random_bits(state, 16),
		.traffic_class = (uint8_t)random_bits(state, 8),
		.hop_limit = (uint8_t)random_bits(state, 8),
	};
	uint8_t source[16], dest[16];

	random_fill(state, source, sizeof(source));
	random_fill(state, dest, sizeof(dest));
	source[0] = dest[0] = 0x20;
	addresses.source = ipv4 ? rnic_gid_from_ipv4(source) : rnic_gid_from_ipv6(source);
	addresses.dest = ipv4 ? rnic_gid_from_ipv4(dest) : rnic_gid_from_ipv6(dest);
	return addresses;
}

static uint32_t random_payload_bytes(uint64_t *state, const struct rnic_opcode *row)
{
	uint32_t any = random_bits(state, 16) % (RNIC_PAYLOAD_BYTES_MAX + 1);

	switch (row->payload) {
	case RNIC_PAYLOAD_NONE:
		return 0;
	case RNIC_PAYLOAD_EIGHT:
		return 8;
	case RNIC_PAYLOAD_FULL:
		return UINT32_C(256) << any % 5;
	case RNIC_PAYLOAD_LAST:
		return any == 0 ? 1 : any;
	default:
		return any;
	}
}

static void random_headers(uint64_t *state, struct rnic_packet *packet)
{
	uint16_t headers = packet->row->headers;

	if (headers & RNIC_HEADER_DETH) {
		packet->qkey = random_bits(state, 32);
		packet->source_qpn = random_bits(state, 24);
	}
	if (headers & RNIC_HEADER_XRCETH)
		packet->xrc_srqn = random_bits(state, 24);
	if (headers & RNIC_HEADER_FETH)
		packet->flush_type = random_bits(state, 6);
	if (headers & RNIC_HEADER_RETH) {
		packet->reth.address = maker_random(state);
		packet->reth.rkey = random_bits(state, 32);
		packet->reth.length = random_bits(state, 32);
	}
	if (headers & RNIC_HEADER_ATOMIC) {
		packet->atomic.address = maker_random(state);
		packet->atomic.rkey = random_bits(state, 32);
		packet->atomic.swap_or_add = maker_random(state);
		packet->atomic.compare = maker_random(state);
	}
	if (headers & RNIC_HEADER_AETH) {
		packet->aeth.syndrome = (uint8_t)random_bits(state, 8);
		packet->aeth.msn = random_bits(state, 24);
	}
	if (headers & RNIC_HEADER_ATOMIC_ACK)
		packet->atomic_original = maker_random(state);
	if (headers & RNIC_HEADER_IMMEDIATE)
		packet->immediate = random_bits(state, 32);
	if (headers & RNIC_HEADER_INVALIDATE)
		packet->invalidate_rkey = random_bits(state, 32);
}

struct rnic_packet maker_packet(uint64_t *state, uint8_t opcode, bool ipv4, uint8_t *payload)
{
	struct rnic_packet packet = {
		.addresses = maker_addresses(state, ipv4),
		.row = rnic_opcode_row(opcode),
		.opcode = opcode,
		.solicited = random_bits(state, 1),
		.migrated = random_bits(state, 1),
		.ack_request = random_bits(state, 1),
		.fecn = random_bits(state, 1),
		.becn = random_bits(state, 1),
		.pkey = (uint16_t)random_bits(state, 16),
		.dest_qpn = random_bits(state, 24),
		.psn = rnic_psn(random_bits(state, 24)),
		.payload = payload,
	};

	packet.payload_bytes = random_payload_bytes(state, packet.row);
	random_headers(state, &packet);
	random_fill(state, payload, packet.payload_bytes);
	return packet;
}

size_t maker_write(const struct rnic_packet *packet, uint8_t *out)
{
	size_t length = rnic_packet_encode_headers(packet, out);

	memcpy(out + length, packet->payload, packet->payload_bytes);
	length += packet->payload_bytes;
	memset(out + length, 0, rnic_pad_bytes(packet->payload_bytes) + RNIC_ICRC_BYTES);
	return length + rnic_pad_bytes(packet->payload_bytes) + RNIC_ICRC_BYTES;
}
