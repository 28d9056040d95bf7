/* SPDX-License-Identifier: MIT */
#include "device/receive.h"

#include "wire/icrc.h"
#include "wire/packet.h"

void receive_init(struct receive *receive, struct engine *engine, struct port *port)
{
	receive->engine = engine;
	receive->port = port;
	receive->bad_icrc = 0;
	receive->undecodable = 0;
}

static void receive_one(struct receive *receive, const struct datagram *datagram, uint64_t now_ns)
{
	struct rnic_packet packet;

	if (rnic_icrc_check(&datagram->addresses, datagram->bytes, datagram->length, NULL) ==
	    RNIC_ICRC_BAD) {
		receive->bad_icrc++;
		return;
	}
	if (rnic_packet_decode(&packet, &datagram->addresses, datagram->bytes, datagram->length) !=
	    0) {
		receive->undecodable++;
		return;
	}
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
