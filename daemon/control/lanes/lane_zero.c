/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/lane_zero.h"

#include "proto/base/lane.h"
#include "proto/wire/headers.h"
#include "proto/wire/packet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for the ICRC that the port appends, in whole cache lines. */
#define SLOT_BYTES ((RNIC_PACKET_BYTES_MAX + 63) & ~63)

int lane_zero_init(struct lane_zero *zero, struct port *port,
		   const struct general_services *services, lane_zero_misrouted *take_misrouted,
		   void *misrouted_context)
{
	memset(zero, 0, sizeof(*zero));
	zero->slab = malloc((size_t)LIMIT_TURN_SERVICE_TRANSMITS * SLOT_BYTES);
	if (zero->slab == NULL)
		return -ENOMEM;
	zero->port = port;
	zero->services = *services;
	zero->take_misrouted = take_misrouted;
	zero->misrouted_context = misrouted_context;
	return 0;
}

void lane_zero_set_port(struct lane_zero *zero, struct port *port)
{
	zero->port = port;
}

void lane_zero_fini(struct lane_zero *zero)
{
	free(zero->slab);
	zero->slab = NULL;
}

/* --- receiving -------------------------------------------------------------------------------- */

static void receive_service(struct lane_zero *zero, const struct datagram *datagram,
			    uint64_t now_ns)
{
	struct rnic_packet packet;

	if (rnic_packet_decode(&packet, &datagram->addresses, datagram->bytes, datagram->length) !=
	    0) {
		zero->counters.undecodable++;
		return;
	}
	zero->services.receive(zero->services.context, &packet, now_ns);
}

static void receive_one(struct lane_zero *zero, const struct datagram *datagram, uint64_t now_ns)
{
	uint32_t dest_qpn;
	uint8_t lane;

	/* A good datagram has a whole BTH. */
	if (!icrc_check_is_good(&zero->icrc, datagram))
		return;
	dest_qpn = rnic_bth_dest_qpn(datagram->bytes);
	lane = rnic_lane_of(dest_qpn);
	if (dest_qpn == RNIC_GENERAL_SERVICES_QPN) {
		receive_service(zero, datagram, now_ns);
	} else if (lane >= RNIC_LANE_FIRST && lane <= RNIC_LANE_LAST) {
		zero->counters.misrouted++;
		if (!zero->take_misrouted(zero->misrouted_context, lane, datagram))
			unknown_qp_note(&zero->unknown, &datagram->addresses.source, dest_qpn);
	} else {
		zero->counters.unknown++;
		unknown_qp_note(&zero->unknown, &datagram->addresses.source, dest_qpn);
	}
}

void lane_zero_deliver(struct lane_zero *zero, const struct rnic_addresses *addresses,
		       uint8_t *bytes, uint32_t length, uint64_t now_ns)
{
	const struct datagram datagram = {
		.addresses = *addresses,
		.bytes = bytes,
		.length = length,
		.received_ns = now_ns,
	};

	zero->counters.handed_in++;
	if (!icrc_check_is_good(&zero->icrc, &datagram))
		return;
	/* A misrouted packet would come back from there, for ever. */
	if (rnic_bth_dest_qpn(bytes) == RNIC_GENERAL_SERVICES_QPN)
		receive_service(zero, &datagram, now_ns);
	else
		zero->counters.unknown++;
}

/* --- sending ---------------------------------------------------------------------------------- */

static bool is_blocked(const struct lane_zero *zero)
{
	return zero->first < zero->count;
}

static void build(struct lane_zero *zero, const struct rnic_packet *packet)
{
	uint8_t *bytes = zero->slab + (size_t)zero->count * SLOT_BYTES;
	uint32_t header_bytes = (uint32_t)rnic_packet_encode_headers(packet, bytes);

	assert(rnic_packet_bytes(packet) + RNIC_ICRC_BYTES <= RNIC_PACKET_BYTES_MAX);
	memcpy(bytes + header_bytes, packet->payload, packet->payload_bytes);
	memset(bytes + header_bytes + packet->payload_bytes, 0,
	       rnic_pad_bytes(packet->payload_bytes));
	zero->transmits[zero->count++] = (struct datagram){
		.addresses = packet->addresses,
		.bytes = bytes,
		.length = rnic_packet_bytes(packet),
	};
}

static uint32_t offer(struct lane_zero *zero, uint64_t now_ns)
{
	uint32_t waiting = zero->count - zero->first;
	uint32_t taken = zero->port->ops->transmit(zero->port, zero->transmits + zero->first,
						   waiting, now_ns);

	assert(taken <= waiting);
	zero->first += taken;
	return taken;
}

static uint32_t transmit(struct lane_zero *zero, uint64_t now_ns)
{
	struct port *port = zero->port;
	struct rnic_packet packet;
	uint32_t taken = 0;

	if (is_blocked(zero)) {
		taken = offer(zero, now_ns);
		if (is_blocked(zero))
			return taken;
	} else if (port->ops->next_deadline_ns(port) <= now_ns) {
		/* A port that holds datagrams back sends those that are due. */
		port->ops->transmit(port, zero->transmits, 0, now_ns);
	}
	zero->first = zero->count = 0;
	while (zero->count < LIMIT_TURN_SERVICE_TRANSMITS &&
	       zero->services.transmit(zero->services.context, &packet))
		build(zero, &packet);
	return is_blocked(zero) ? taken + offer(zero, now_ns) : taken;
}

/* --- turns ------------------------------------------------------------------------------------ */

uint32_t lane_zero_turn(struct lane_zero *zero, uint64_t now_ns)
{
	const struct general_services *services = &zero->services;
	uint32_t count =
		zero->port->ops->receive(zero->port, zero->receives, LIMIT_TURN_RECEIVES, now_ns);

	for (uint32_t i = 0; i < count; i++)
		receive_one(zero, &zero->receives[i], now_ns);
	if (services->next_deadline_ns(services->context) <= now_ns)
		services->tick(services->context, now_ns);
	return count + transmit(zero, now_ns);
}

bool lane_zero_has_work(const struct lane_zero *zero)
{
	return !is_blocked(zero) && zero->services.has_ready(zero->services.context);
}

uint64_t lane_zero_next_deadline_ns(const struct lane_zero *zero)
{
	uint64_t services_ns = zero->services.next_deadline_ns(zero->services.context);
	uint64_t port_ns = zero->port->ops->next_deadline_ns(zero->port);

	return services_ns < port_ns ? services_ns : port_ns;
}

void lane_zero_watch(struct lane_zero *zero, void (*watch)(void *context, int fd, bool for_writing),
		     void *context)
{
	zero->port->ops->watch(zero->port, watch, context);
}
