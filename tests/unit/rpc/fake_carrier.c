/* SPDX-License-Identifier: MIT */
#include "fake_carrier.h"

#include "rpc/transport/carrier_device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct fake_way {
	struct carrier_way base;
	uint32_t peer;
};

/* Stands for the kernel's: numbers that differ are all that matters here. */
void carrier_random(void *bytes, size_t count)
{
	static uint8_t next = 1;
	uint8_t *at = bytes;

	for (size_t i = 0; i < count; i++)
		at[i] = (uint8_t)(next++ * 167);
}

static struct fake_carrier *fake_of(struct carrier *carrier)
{
	return (struct fake_carrier *)carrier;
}

static int open_way(struct carrier *carrier, const struct carrier_datagram *datagram,
		    struct carrier_way **way)
{
	struct fake_way *made = calloc(1, sizeof(*made));

	assert(made != NULL);
	made->base.carrier = carrier;
	made->peer = datagram->source_qpn;
	fake_of(carrier)->ways++;
	*way = &made->base;
	return 0;
}

static void close_way(struct carrier_way *way)
{
	fake_of(way->carrier)->ways--;
	free((struct fake_way *)way);
}

static bool is_source(const struct carrier_way *way, const struct carrier_datagram *datagram)
{
	return ((const struct fake_way *)way)->peer == datagram->source_qpn;
}

static uint8_t *room(struct carrier_way *way)
{
	struct fake_carrier *carrier = fake_of(way->carrier);

	return carrier->room > 0 ? carrier->bytes : NULL;
}

static int send_datagram(struct carrier_way *way, uint32_t bytes)
{
	struct fake_carrier *carrier = fake_of(way->carrier);
	struct fake_sent *sent = &carrier->sent[carrier->sent_count++];

	assert(carrier->sent_count < FAKE_SENT_MAX);
	carrier->room--;
	sent->peer = ((struct fake_way *)way)->peer;
	assert(rpc_packet_decode(&sent->packet, carrier->bytes, bytes) == 0);
	sent->packet.payload = NULL;
	return 0;
}

void fake_carrier_init(struct fake_carrier *carrier)
{
	static const struct carrier_calls calls = {
		.config = &rpc_session_defaults,
		.open_way = open_way,
		.close_way = close_way,
		.is_source = is_source,
		.room = room,
		.send = send_datagram,
	};

	memset(carrier, 0, sizeof(*carrier));
	carrier->base.calls = &calls;
	carrier->room = UINT32_MAX;
}

struct carrier_datagram fake_datagram(struct fake_carrier *carrier, uint32_t peer,
				      const struct rpc_packet *packet)
{
	static uint8_t bytes[RPC_DATAGRAM_MAX_BYTES];
	int length = rpc_packet_encode(packet, bytes, sizeof(bytes));

	assert(length > 0);
	return (struct carrier_datagram){
		.carrier = &carrier->base,
		.bytes = bytes,
		.length = (uint32_t)length,
		.source_qpn = peer,
	};
}

struct carrier_datagram fake_loss(struct fake_carrier *carrier, struct carrier_way *way)
{
	return (struct carrier_datagram){.carrier = &carrier->base, .way = way};
}
