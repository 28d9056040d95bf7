/* SPDX-License-Identifier: MIT */
#include "path/receive.h"

#include "path/path_limits.h"
#include "wire/icrc.h"
#include "wire/packet.h"

void receive_init(struct receive *receive, struct engine *engine,
		  const struct general_services *services, struct port *port)
{
	receive->engine = engine;
	receive->services = services;
	receive->port = port;
	receive->is_counting_up = false;
	receive->bad_icrc = 0;
	receive->undecodable = 0;
}

/*
 * Packets that one segmented send became count up from 0, those that were sent one by one are all
 * 0; a buffer of UDP_GRO may hold either, and the last packet tells what to expect.
 */
static enum rnic_icrc_verdict receive_check(struct receive *receive,
					    const struct datagram *datagram)
{
	uint16_t expected = receive->is_counting_up ? datagram->gso_batch_position : 0;
	uint16_t identification = 0;
	enum rnic_icrc_verdict verdict = rnic_icrc_check_expecting(
		&datagram->addresses, expected, datagram->bytes, datagram->length, &identification);

	if (verdict != RNIC_ICRC_BAD && datagram->gso_batch_position != 0)
		receive->is_counting_up = identification != 0;
	return verdict;
}

static void receive_one(struct receive *receive, const struct datagram *datagram, uint64_t now_ns)
{
	struct rnic_packet packet;

	if (receive_check(receive, datagram) == RNIC_ICRC_BAD) {
		receive->bad_icrc++;
		return;
	}
	if (rnic_packet_decode(&packet, &datagram->addresses, datagram->bytes, datagram->length) !=
	    0) {
		receive->undecodable++;
		return;
	}
	if (packet.dest_qpn == RNIC_GENERAL_SERVICES_QPN)
		receive->services->receive(receive->services->context, &packet, now_ns);
	else
		engine_receive(receive->engine, &packet, now_ns);
}

uint32_t receive_run(struct receive *receive, uint64_t now_ns)
{
	uint32_t count = receive->port->ops->receive(receive->port, receive->datagrams,
						     LIMIT_TURN_RECEIVES, now_ns);

	for (uint32_t i = 0; i < count; i++)
		receive_one(receive, &receive->datagrams[i], now_ns);
	if (count > 0)
		engine_flush(receive->engine, now_ns);
	return count;
}
