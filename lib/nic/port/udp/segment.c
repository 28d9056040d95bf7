/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/segment.h"

#include "proto/base/lane.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"

#include <assert.h>

static bool is_same_way(const struct rnic_addresses *a, const struct rnic_addresses *b)
{
	return rnic_gid_equal(&a->dest, &b->dest) && rnic_gid_equal(&a->source, &b->source) &&
	       a->traffic_class == b->traffic_class && a->hop_limit == b->hop_limit;
}

uint32_t segment_dest_qpn(const struct datagram *datagram)
{
	return datagram->length < RNIC_BTH_BYTES ? 0 : rnic_bth_dest_qpn(datagram->bytes);
}

uint32_t segment_gso_batch_length(const struct datagram *datagrams, uint32_t count)
{
	uint32_t segment_bytes = datagrams[0].length + RNIC_ICRC_BYTES;
	uint32_t gso_batch_bytes = segment_bytes;
	uint8_t lane = rnic_lane_of(segment_dest_qpn(&datagrams[0]));
	uint32_t length = 1;

	assert(count > 0);
	while (length < count && length < SEGMENT_GSO_BATCH_DATAGRAMS_MAX) {
		const struct datagram *next = &datagrams[length];
		uint32_t next_bytes = next->length + RNIC_ICRC_BYTES;

		if (next_bytes > segment_bytes ||
		    gso_batch_bytes + next_bytes > SEGMENT_GSO_BATCH_BYTES_MAX ||
		    !is_same_way(&next->addresses, &datagrams[0].addresses) ||
		    rnic_lane_of(segment_dest_qpn(next)) != lane)
			break;
		gso_batch_bytes += next_bytes;
		length++;
		if (next_bytes < segment_bytes)
			break;
	}
	return length;
}

static void flip_damaged_bit(struct datagram *datagram)
{
	uint32_t bit = datagram->damage - 1;

	if (datagram->damage == 0)
		return;
	assert(bit / 8 < datagram->length + RNIC_ICRC_BYTES);
	datagram->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

void segment_seal(struct datagram *datagrams, uint32_t count, uint16_t source_port)
{
	assert(count <= SEGMENT_GSO_BATCH_DATAGRAMS_MAX);
	for (uint32_t i = 0; i < count; i++) {
		struct datagram *datagram = &datagrams[i];
		struct rnic_addresses *addresses = &datagram->addresses;

		addresses->source_port = source_port;
		if (addresses->hop_limit == 0)
			addresses->hop_limit = SEGMENT_HOP_LIMIT_DEFAULT;
		rnic_icrc_write(datagram->bytes + datagram->length,
				rnic_icrc_compute(addresses, (uint16_t)i, datagram->bytes,
						  datagram->length));
		flip_damaged_bit(datagram);
	}
}

void segment_unseal(struct datagram *datagrams, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		flip_damaged_bit(&datagrams[i]);
}

void segment_report(const struct segment_sink *sink, const struct datagram *datagrams,
		    uint32_t count, uint64_t now_ns)
{
	if (sink == NULL)
		return;
	for (uint32_t i = 0; i < count; i++)
		sink->sent(sink->context, &datagrams[i], (uint16_t)i, now_ns);
}
