/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_packet.h"

#include "lib/apis/rpc/wire/rpc_bytes.h"

#include <errno.h>
#include <stdbool.h>

enum {
	MAGIC = 0x5250,
	AT_MAGIC = 0,
	AT_VERSION = 2,
	AT_KIND = 3,
	AT_TO = 4,
	AT_FROM = 8,
	AT_SEQUENCE = 12,
	AT_CUMULATIVE = 16,
	AT_SELECTIVE = 20,
	AT_CREDIT = 28,
	AT_MESSAGE = 32,
	AT_OFFSET = 36,
	AT_TOTAL = 40,
	AT_PAYLOAD_BYTES = 44,
	AT_CODE = 46,
};

/* The fields that each kind must and may have. */
static const struct {
	bool has_to;
	bool is_fragment;
	bool has_code;		/* of any value */
	bool has_size;		/* of datagrams, in `total` */
	uint16_t payload_bytes; /* of kinds other than fragments */
} rules[RPC_PACKET_KINDS] = {
	[RPC_PACKET_OPEN] = {.payload_bytes = RPC_IDENTITY_BYTES},
	[RPC_PACKET_OPENED] = {.has_to = true,
			       .has_size = true,
			       .payload_bytes = RPC_IDENTITY_BYTES},
	[RPC_PACKET_DATA] = {.has_to = true, .is_fragment = true},
	[RPC_PACKET_ACK] = {.has_to = true},
	[RPC_PACKET_PING] = {.has_to = true},
	[RPC_PACKET_CLOSE] = {.has_to = true, .has_code = true},
};

static bool check_fragment(const struct rpc_packet *packet)
{
	return packet->code <= RPC_DATA_ASKS && packet->total <= RPC_MESSAGE_LIMIT_BYTES &&
	       packet->offset <= packet->total &&
	       packet->payload_bytes <= packet->total - packet->offset && packet->payload_bytes > 0;
}

static bool rpc_packet_check_packet(const struct rpc_packet *packet)
{
	if (packet->kind < RPC_PACKET_OPEN || packet->kind >= RPC_PACKET_KINDS)
		return false;
	if ((packet->to != 0) != rules[packet->kind].has_to)
		return false;
	if (packet->from == 0 && packet->kind != RPC_PACKET_CLOSE)
		return false;
	if (rules[packet->kind].is_fragment)
		return check_fragment(packet);
	if (packet->code != 0 && !rules[packet->kind].has_code)
		return false;
	if (packet->total != 0 && !rules[packet->kind].has_size)
		return false;
	return packet->message == 0 && packet->offset == 0 &&
	       packet->payload_bytes == rules[packet->kind].payload_bytes;
}

int rpc_packet_decode(struct rpc_packet *packet, const void *datagram, size_t bytes)
{
	const uint8_t *header = datagram;
	struct rpc_packet found;

	if (bytes < RPC_HEADER_BYTES || bytes > RPC_DATAGRAM_MAX_BYTES ||
	    rpc_read16(header + AT_MAGIC) != MAGIC)
		return -EBADMSG;
	if (header[AT_VERSION] != RPC_PACKET_VERSION)
		return -EPROTONOSUPPORT;
	found = (struct rpc_packet){
		.kind = header[AT_KIND],
		.to = rpc_read32(header + AT_TO),
		.from = rpc_read32(header + AT_FROM),
		.sequence = rpc_read32(header + AT_SEQUENCE),
		.cumulative = rpc_read32(header + AT_CUMULATIVE),
		.selective = rpc_read64(header + AT_SELECTIVE),
		.credit = rpc_read32(header + AT_CREDIT),
		.message = rpc_read32(header + AT_MESSAGE),
		.offset = rpc_read32(header + AT_OFFSET),
		.total = rpc_read32(header + AT_TOTAL),
		.payload_bytes = rpc_read16(header + AT_PAYLOAD_BYTES),
		.code = rpc_read16(header + AT_CODE),
		.payload = header + RPC_HEADER_BYTES,
	};
	if (!rpc_packet_check_packet(&found) || found.payload_bytes > bytes - RPC_HEADER_BYTES)
		return -EBADMSG;
	if (found.payload_bytes < bytes - RPC_HEADER_BYTES && !rules[found.kind].is_fragment)
		return -EBADMSG;
	*packet = found;
	return (int)(RPC_HEADER_BYTES + found.payload_bytes);
}

bool rpc_packet_next(struct rpc_packet *packet, const void *datagram, size_t bytes, size_t *at)
{
	const int length = rpc_packet_decode(packet, (const uint8_t *)datagram + *at, bytes - *at);

	if (length < 0)
		return false;
	*at += (size_t)length;
	return true;
}

int rpc_packet_encode(const struct rpc_packet *packet, void *datagram, size_t room)
{
	size_t bytes = RPC_HEADER_BYTES + packet->payload_bytes;
	uint8_t *header = datagram;

	if (bytes > room || bytes > RPC_DATAGRAM_MAX_BYTES)
		return -EMSGSIZE;
	rpc_write16(header + AT_MAGIC, MAGIC);
	header[AT_VERSION] = RPC_PACKET_VERSION;
	header[AT_KIND] = (uint8_t)packet->kind;
	rpc_write32(header + AT_TO, packet->to);
	rpc_write32(header + AT_FROM, packet->from);
	rpc_write32(header + AT_SEQUENCE, packet->sequence);
	rpc_write32(header + AT_CUMULATIVE, packet->cumulative);
	rpc_write64(header + AT_SELECTIVE, packet->selective);
	rpc_write32(header + AT_CREDIT, packet->credit);
	rpc_write32(header + AT_MESSAGE, packet->message);
	rpc_write32(header + AT_OFFSET, packet->offset);
	rpc_write32(header + AT_TOTAL, packet->total);
	rpc_write16(header + AT_PAYLOAD_BYTES, packet->payload_bytes);
	rpc_write16(header + AT_CODE, packet->code);
	if (packet->payload_bytes > 0 && packet->payload != header + RPC_HEADER_BYTES)
		memcpy(header + RPC_HEADER_BYTES, packet->payload, packet->payload_bytes);
	return (int)bytes;
}
