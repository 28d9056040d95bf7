/* SPDX-License-Identifier: MIT */
#include "lib/nic/path/receive.h"

#include "lib/nic/engine/prefetch.h"
#include "lib/nic/path/path_limits.h"
#include "proto/base/lane.h"
#include "proto/wire/gid.h"
#include "proto/wire/packet.h"

/* How many datagrams later a datagram takes each step after the first one, and has its turn. */
enum {
	DELAY_QP = 3,
	DELAY_WQE = 6,
	DELAY_TURN = 8,
};

void receive_init(struct receive *receive, struct engine *engine, struct port *port,
		  const struct packet_notes *notes)
{
	receive->notes = notes;
	receive->engine = engine;
	receive->port = port;
	receive->icrc = (struct icrc_check){0};
	receive->lane = RNIC_LANE_NONE;
	receive->take_misrouted = NULL;
	receive->misrouted_context = NULL;
	receive->misrouted = 0;
	receive->lost_misrouted = 0;
	receive->undecodable = 0;
}

void receive_set_lane(struct receive *receive, uint8_t lane, receive_misrouted *take_misrouted,
		      void *context)
{
	receive->lane = lane;
	receive->take_misrouted = take_misrouted;
	receive->misrouted_context = context;
}

/*
 * Whether the datagram is for another lane that somebody has. Groups have no lane: each member got
 * its copy.
 */
static bool is_misrouted(const struct receive *receive, const struct datagram *datagram)
{
	const uint32_t dest_qpn = rnic_bth_dest_qpn(datagram->bytes);

	return !rnic_lane_has(receive->lane, dest_qpn) &&
	       rnic_lane_of(dest_qpn) <= RNIC_LANE_LAST &&
	       !rnic_gid_is_multicast(&datagram->addresses.dest);
}

static void receive_packet(struct receive *receive, const struct rnic_addresses *addresses,
			   const uint8_t *bytes, uint32_t length, uint64_t now_ns)
{
	struct rnic_packet packet;

	if (rnic_packet_decode(&packet, addresses, bytes, length) != 0) {
		receive->undecodable++;
		return;
	}
	engine_receive(receive->engine, &packet, now_ns);
}

static void receive_one(struct receive *receive, const struct datagram *datagram, uint64_t now_ns)
{
	if (!icrc_check_is_good(&receive->icrc, datagram))
		return;
	if (!is_misrouted(receive, datagram)) {
		receive_packet(receive, &datagram->addresses, datagram->bytes, datagram->length,
			       now_ns);
		return;
	}
	receive->misrouted++;
	if (receive->take_misrouted == NULL ||
	    !receive->take_misrouted(receive->misrouted_context, datagram))
		receive->lost_misrouted++;
}

void receive_deliver(struct receive *receive, const struct rnic_addresses *addresses,
		     uint8_t *bytes, uint32_t length, uint64_t now_ns)
{
	const struct datagram datagram = {
		.addresses = *addresses,
		.bytes = bytes,
		.length = length,
		.received_ns = now_ns,
	};

	if (!icrc_check_is_good(&receive->icrc, &datagram))
		return;
	receive_packet(receive, addresses, bytes, length, now_ns);
	engine_flush(receive->engine, now_ns);
}

/* `i` may be no number of a datagram: there is nothing to do then. */
static void receive_prefetch(const struct receive *receive, uint32_t i, uint32_t count,
			     prefetch_step *step)
{
	if (i < count && receive->datagrams[i].length >= RNIC_BTH_BYTES)
		step(receive->engine, rnic_bth_dest_qpn(receive->datagrams[i].bytes));
}

/* Each datagram takes the steps of prefetch.h before its turn. */
static void receive_with_prefetch(struct receive *receive, uint32_t count, uint64_t now_ns)
{
	for (uint32_t i = 0; i < count + DELAY_TURN; i++) {
		receive_prefetch(receive, i, count, prefetch_number);
		receive_prefetch(receive, i - DELAY_QP, count, prefetch_qp);
		receive_prefetch(receive, i - DELAY_WQE, count, prefetch_oldest_wqe);
		if (i >= DELAY_TURN)
			receive_one(receive, &receive->datagrams[i - DELAY_TURN], now_ns);
	}
}

/* For a capture, which hears of each packet that the engine does not take. */
static void receive_with_notes(struct receive *receive, uint32_t count, uint64_t now_ns)
{
	for (uint32_t i = 0; i < count; i++) {
		engine_take_refusal(receive->engine);
		receive_one(receive, &receive->datagrams[i], now_ns);
		packet_notes_received(receive->notes, receive->engine, receive->datagrams[i].bytes);
	}
	capture_write_received(receive->notes->capture);
}

uint32_t receive_run(struct receive *receive, uint64_t now_ns)
{
	uint32_t count = receive->port->ops->receive(receive->port, receive->datagrams,
						     LIMIT_TURN_RECEIVES, now_ns);

	if (receive->notes->capture != NULL)
		receive_with_notes(receive, count, now_ns);
	else if (prefetch_is_worthwhile(receive->engine))
		receive_with_prefetch(receive, count, now_ns);
	else
		for (uint32_t i = 0; i < count; i++)
			receive_one(receive, &receive->datagrams[i], now_ns);
	if (count > 0)
		engine_flush(receive->engine, now_ns);
	return count;
}
