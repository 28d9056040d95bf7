/* SPDX-License-Identifier: MIT */
#include "lib/dropin/rsockets/rsocket_flow.h"

#include <assert.h>
#include <errno.h>

/* The peer learns of bytes once the whole write is there: long writes would make it wait. */
#define WRITE_MAX_BYTES (64u << 10)

static uint32_t rsocket_flow_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t half(const struct rnic_rsocket_flow *flow)
{
	return flow->limits.receive_bytes / 2;
}

void rnic_rsocket_flow_init(struct rnic_rsocket_flow *flow,
			    const struct rnic_rsocket_flow_limits *limits)
{
	assert(limits->receive_bytes >= 2 && limits->receive_bytes % 2 == 0);
	*flow = (struct rnic_rsocket_flow){
		.limits = *limits,
		.send_free = limits->send_bytes,
		.requests_free = limits->send_requests,
		.controls_free = RNIC_RSOCKET_CONTROL_REQUESTS,
		.open = limits->receive_bytes / 2,
		.freed = limits->receive_bytes / 2,
		.publish_at = limits->receive_bytes / 2,
	};
}

void rnic_rsocket_flow_greet(const struct rnic_rsocket_flow *flow,
			     struct rnic_rsocket_greeting *greeting)
{
	greeting->is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	greeting->credits = (uint16_t)flow->limits.receive_requests;
	greeting->buffer = (struct rnic_rsocket_target){
		.address = flow->limits.receive_address,
		.key = flow->limits.receive_key,
		.length = half(flow),
	};
}

void rnic_rsocket_flow_begin(struct rnic_rsocket_flow *flow,
			     const struct rnic_rsocket_greeting *peer)
{
	flow->is_swapped = peer->is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	flow->send_limit = peer->credits;
	flow->peer_list = peer->list;
	flow->peer_entry = 1 % peer->list.length;
	flow->next_entry = 1;
	flow->buffer_count = 0;
	if (peer->buffer.length > 0)
		flow->buffers[flow->buffer_count++] = peer->buffer;
}

/* --- sending --------------------------------------------------------------------------------- */

uint32_t rnic_rsocket_flow_direct_room(const struct rnic_rsocket_flow *flow)
{
	const uint32_t low_water =
		rsocket_flow_least(RNIC_RSOCKET_LOW_WATER_BYTES, flow->limits.send_bytes);

	if (flow->requests_free == 0 || flow->send_free < low_water)
		return 0;
	return rsocket_flow_least(flow->send_free, WRITE_MAX_BYTES);
}

uint32_t rnic_rsocket_flow_room(const struct rnic_rsocket_flow *flow)
{
	if (flow->sent == flow->send_limit || flow->buffer_count == 0)
		return 0;
	return rsocket_flow_least(rnic_rsocket_flow_direct_room(flow), flow->buffers[0].length);
}

bool rnic_rsocket_flow_has_mapping_room(const struct rnic_rsocket_flow *flow)
{
	return flow->requests_free > 0 && flow->sent != flow->send_limit;
}

void rnic_rsocket_flow_pieces(const struct rnic_rsocket_flow *flow, uint32_t bytes, uint32_t at[2],
			      uint32_t piece_bytes[2])
{
	at[0] = flow->send_at;
	piece_bytes[0] = rsocket_flow_least(bytes, flow->limits.send_bytes - flow->send_at);
	at[1] = 0;
	piece_bytes[1] = bytes - piece_bytes[0];
}

void rnic_rsocket_flow_write_direct(struct rnic_rsocket_flow *flow, uint32_t bytes,
				    struct rnic_rsocket_write *write)
{
	assert(bytes > 0 && bytes <= flow->send_free && flow->requests_free > 0);
	*write = (struct rnic_rsocket_write){0};
	rnic_rsocket_flow_pieces(flow, bytes, write->at, write->bytes);
	flow->send_at = (flow->send_at + bytes) % flow->limits.send_bytes;
	flow->send_free -= bytes;
	flow->requests_free--;
}

void rnic_rsocket_flow_write(struct rnic_rsocket_flow *flow, uint32_t bytes,
			     struct rnic_rsocket_write *write)
{
	struct rnic_rsocket_target *buffer = &flow->buffers[0];

	assert(flow->buffer_count > 0 && bytes <= buffer->length && flow->sent != flow->send_limit);
	rnic_rsocket_flow_write_direct(flow, bytes, write);
	write->address = buffer->address;
	write->key = buffer->key;
	write->message = rnic_rsocket_message(RNIC_RSOCKET_DATA, bytes);
	buffer->address += bytes;
	buffer->length -= bytes;
	flow->sent++;
	if (buffer->length > 0)
		return;
	flow->buffer_count--;
	for (uint32_t i = 0; i < flow->buffer_count; i++)
		flow->buffers[i] = flow->buffers[i + 1];
}

void rnic_rsocket_flow_write_mapping(struct rnic_rsocket_flow *flow)
{
	assert(rnic_rsocket_flow_has_mapping_room(flow));
	flow->requests_free--;
	flow->sent++;
}

bool rnic_rsocket_flow_take_control(struct rnic_rsocket_flow *flow)
{
	if (flow->controls_free == 0)
		return false;
	flow->controls_free--;
	return true;
}

void rnic_rsocket_flow_sent(struct rnic_rsocket_flow *flow, enum rnic_rsocket_request request,
			    uint32_t bytes)
{
	if (request == RNIC_RSOCKET_REQUEST_CONTROL) {
		flow->controls_free++;
		return;
	}
	flow->requests_free++;
	flow->send_free += bytes;
}

bool rnic_rsocket_flow_is_idle(const struct rnic_rsocket_flow *flow)
{
	return flow->requests_free == flow->limits.send_requests &&
	       flow->controls_free == RNIC_RSOCKET_CONTROL_REQUESTS;
}

/* --- receiving ------------------------------------------------------------------------------- */

int rnic_rsocket_flow_receive(struct rnic_rsocket_flow *flow, uint32_t message)
{
	const uint32_t value = rnic_rsocket_message_value(message);

	switch (rnic_rsocket_message_kind(message)) {
	case RNIC_RSOCKET_DATA:
		if (value > flow->open)
			return -EPROTO;
		flow->open -= value;
		flow->readable += value;
		flow->received++;
		return 0;
	case RNIC_RSOCKET_IOMAP:
		flow->received++;
		return 0;
	case RNIC_RSOCKET_CREDIT:
		flow->send_limit = (uint16_t)value;
		return 0;
	case RNIC_RSOCKET_CONTROL:
		return 0;
	}
	return -EPROTO;
}

bool rnic_rsocket_flow_take_buffer(struct rnic_rsocket_flow *flow,
				   const struct rnic_rsocket_target *entry)
{
	if (entry->length == 0 || flow->buffer_count == RNIC_RSOCKET_LIST_ENTRIES)
		return false;
	flow->buffers[flow->buffer_count++] = *entry;
	flow->next_entry = (flow->next_entry + 1) % RNIC_RSOCKET_LIST_ENTRIES;
	return true;
}

void rnic_rsocket_flow_consume(struct rnic_rsocket_flow *flow, uint32_t bytes)
{
	assert(bytes <= flow->readable);
	flow->readable -= bytes;
	flow->freed += bytes;
	flow->read_at = (flow->read_at + bytes) % flow->limits.receive_bytes;
}

/* A half may go into an entry of the peer's list that the peer has filled up, or into a new one. */
static bool can_publish(const struct rnic_rsocket_flow *flow)
{
	return flow->freed >= half(flow) && (flow->peer_list.length > 1 || flow->open == 0);
}

bool rnic_rsocket_flow_take_update(struct rnic_rsocket_flow *flow,
				   struct rnic_rsocket_update *update)
{
	const uint16_t since = (uint16_t)(flow->received - flow->granted_at);
	const bool has_target = can_publish(flow);

	if (!has_target && since < (flow->limits.receive_requests + 1) / 2)
		return false;
	if (!rnic_rsocket_flow_take_control(flow))
		return false;
	flow->granted_at = flow->received;
	*update = (struct rnic_rsocket_update){
		.message = rnic_rsocket_message(
			RNIC_RSOCKET_CREDIT,
			(uint16_t)(flow->received + flow->limits.receive_requests)),
		.has_target = has_target,
	};
	if (!has_target)
		return true;
	update->address =
		flow->peer_list.address + (uint64_t)flow->peer_entry * RNIC_RSOCKET_TARGET_BYTES;
	update->key = flow->peer_list.key;
	update->target = (struct rnic_rsocket_target){
		.address = flow->limits.receive_address + flow->publish_at,
		.key = flow->limits.receive_key,
		.length = half(flow),
	};
	flow->peer_entry = (flow->peer_entry + 1) % flow->peer_list.length;
	flow->publish_at = flow->publish_at == 0 ? half(flow) : 0;
	flow->freed -= half(flow);
	flow->open += half(flow);
	return true;
}
