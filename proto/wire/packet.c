/* SPDX-License-Identifier: MIT */
#include "proto/wire/packet.h"

#include "proto/wire/headers.h"

#include <assert.h>
#include <errno.h>

static bool is_payload_allowed(const struct rnic_opcode *row, size_t payload_bytes)
{
	switch ((enum rnic_payload_rule)row->payload) {
	case RNIC_PAYLOAD_NONE:
		return payload_bytes == 0;
	case RNIC_PAYLOAD_EIGHT:
		return payload_bytes == RNIC_ATOMIC_WORD_BYTES;
	case RNIC_PAYLOAD_FULL:
	case RNIC_PAYLOAD_LAST:
	case RNIC_PAYLOAD_ONLY:
		break;
	}
	return payload_bytes <= RNIC_PAYLOAD_BYTES_MAX;
}

/* Reads the headers after the BTH and returns their end. The caller has checked the length. */
static const uint8_t *decode_extended_headers(struct rnic_packet *packet, const uint8_t *at)
{
	uint16_t headers = packet->row->headers;

	if (headers & RNIC_HEADER_DETH) {
		struct rnic_deth deth;

		at = rnic_deth_decode(&deth, at);
		packet->qkey = deth.qkey;
		packet->source_qpn = deth.source_qpn;
	}
	if (headers & RNIC_HEADER_XRCETH)
		at = rnic_xrceth_decode(&packet->xrc_srqn, at);
	if (headers & RNIC_HEADER_FETH)
		at = rnic_feth_decode(&packet->flush_type, at);
	if (headers & RNIC_HEADER_RETH)
		at = rnic_reth_decode(&packet->reth, at);
	if (headers & RNIC_HEADER_ATOMIC)
		at = rnic_atomic_header_decode(&packet->atomic, at);
	if (headers & RNIC_HEADER_AETH)
		at = rnic_aeth_decode(&packet->aeth, at);
	if (headers & RNIC_HEADER_ATOMIC_ACK)
		at = rnic_atomic_ack_decode(&packet->atomic_original, at);
	if (headers & RNIC_HEADER_IMMEDIATE)
		at = rnic_immediate_decode(&packet->immediate, at);
	if (headers & RNIC_HEADER_INVALIDATE)
		at = rnic_invalidate_decode(&packet->invalidate_rkey, at);
	if (headers & RNIC_HEADER_CONGESTION)
		at += RNIC_CONGESTION_BYTES;
	return at;
}

int rnic_packet_decode(struct rnic_packet *out, const struct rnic_addresses *addresses,
		       const uint8_t *bytes, size_t length)
{
	const struct rnic_opcode *row;
	struct rnic_bth bth;
	const uint8_t *end;
	size_t tail_bytes;

	if (length < RNIC_BTH_BYTES + RNIC_ICRC_BYTES)
		return -EBADMSG;
	rnic_bth_decode(&bth, bytes);
	if (bth.version != 0)
		return -EPROTO;
	row = rnic_opcode_row(bth.opcode);
	if (row->operation == RNIC_OPERATION_NONE)
		return -EOPNOTSUPP;
	if (length < (size_t)row->header_bytes + RNIC_ICRC_BYTES)
		return -EBADMSG;
	tail_bytes = length - row->header_bytes - RNIC_ICRC_BYTES;
	if (tail_bytes % 4 != 0 || bth.pad_bytes > tail_bytes ||
	    !is_payload_allowed(row, tail_bytes - bth.pad_bytes))
		return -EBADMSG;

	*out = (struct rnic_packet){
		.addresses = *addresses,
		.row = row,
		.opcode = bth.opcode,
		.solicited = bth.solicited,
		.migrated = bth.migrated,
		.ack_request = bth.ack_request,
		.fecn = bth.fecn,
		.becn = bth.becn,
		.pkey = bth.pkey,
		.dest_qpn = bth.dest_qpn,
		.psn = bth.psn,
		.payload = bytes + row->header_bytes,
		.payload_bytes = (uint32_t)(tail_bytes - bth.pad_bytes),
	};
	end = decode_extended_headers(out, bytes + RNIC_BTH_BYTES);
	assert(end == out->payload);
	return 0;
}

static uint8_t *encode_extended_headers(const struct rnic_packet *packet, uint8_t *at)
{
	uint16_t headers = packet->row->headers;

	if (headers & RNIC_HEADER_DETH) {
		struct rnic_deth deth = {packet->qkey, packet->source_qpn};

		at = rnic_deth_encode(&deth, at);
	}
	if (headers & RNIC_HEADER_XRCETH)
		at = rnic_xrceth_encode(packet->xrc_srqn, at);
	if (headers & RNIC_HEADER_FETH)
		at = rnic_feth_encode(packet->flush_type, at);
	if (headers & RNIC_HEADER_RETH)
		at = rnic_reth_encode(&packet->reth, at);
	if (headers & RNIC_HEADER_ATOMIC)
		at = rnic_atomic_header_encode(&packet->atomic, at);
	if (headers & RNIC_HEADER_AETH)
		at = rnic_aeth_encode(&packet->aeth, at);
	if (headers & RNIC_HEADER_ATOMIC_ACK)
		at = rnic_atomic_ack_encode(packet->atomic_original, at);
	if (headers & RNIC_HEADER_IMMEDIATE)
		at = rnic_immediate_encode(packet->immediate, at);
	if (headers & RNIC_HEADER_INVALIDATE)
		at = rnic_invalidate_encode(packet->invalidate_rkey, at);
	if (headers & RNIC_HEADER_CONGESTION)
		at = rnic_congestion_encode(at);
	return at;
}

size_t rnic_packet_encode_headers(const struct rnic_packet *packet, uint8_t *out)
{
	struct rnic_bth bth = {
		.opcode = packet->opcode,
		.solicited = packet->solicited,
		.migrated = packet->migrated,
		.pad_bytes = (uint8_t)rnic_pad_bytes(packet->payload_bytes),
		.pkey = packet->pkey,
		.fecn = packet->fecn,
		.becn = packet->becn,
		.dest_qpn = packet->dest_qpn,
		.ack_request = packet->ack_request,
		.psn = packet->psn,
	};
	uint8_t *end;

	assert(packet->row == rnic_opcode_row(packet->opcode));
	assert(packet->row->operation != RNIC_OPERATION_NONE);
	end = encode_extended_headers(packet, rnic_bth_encode(&bth, out));
	assert((size_t)(end - out) == packet->row->header_bytes);
	return packet->row->header_bytes;
}
