/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/apis/rpc/fake_transport.h"

#include "lib/apis/rpc/transport/transport_device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct fake_route {
	struct transport_route base;
	uint32_t peer;
};

/* Stands for the kernel's random numbers: here it suffices that numbers differ. */
void transport_random(void *bytes, size_t count)
{
	static uint8_t next = 1;
	uint8_t *at = bytes;

	for (size_t i = 0; i < count; i++)
		at[i] = (uint8_t)(next++ * 167);
}

static struct fake_transport *fake_of(struct transport *transport)
{
	return (struct fake_transport *)transport;
}

static int open_route(struct transport *transport, const struct transport_datagram *datagram,
		      struct transport_route **route)
{
	struct fake_route *made = calloc(1, sizeof(*made));

	assert(made != NULL);
	made->base.transport = transport;
	made->peer = datagram->source_qpn;
	fake_of(transport)->routes++;
	fake_of(transport)->openings++;
	*route = &made->base;
	return 0;
}

static void close_route(struct transport_route *route)
{
	fake_of(route->transport)->routes--;
	free((struct fake_route *)route);
}

static bool is_source(const struct transport_route *route,
		      const struct transport_datagram *datagram)
{
	return ((const struct fake_route *)route)->peer == datagram->source_qpn;
}

static uint8_t *room(struct transport_route *route)
{
	struct fake_transport *transport = fake_of(route->transport);

	return transport->room > 0 ? transport->bytes : NULL;
}

static int send_datagram(struct transport_route *route, uint32_t bytes, bool is_urgent)
{
	(void)is_urgent;
	struct fake_transport *transport = fake_of(route->transport);
	uint32_t at = 0;

	transport->room--;
	while (at < bytes) {
		struct fake_sent *sent = &transport->sent[transport->sent_count++];
		const int length =
			rpc_packet_decode(&sent->packet, transport->bytes + at, bytes - at);

		assert(transport->sent_count < FAKE_SENT_MAX && length > 0);
		sent->peer = ((struct fake_route *)route)->peer;
		sent->packet.payload = NULL;
		at += (uint32_t)length;
	}
	return 0;
}

static int open_ring(struct transport *transport, size_t bytes, bool is_for_peers,
		     struct transport_ring **ring)
{
	struct fake_transport *fake = fake_of(transport);
	struct transport_ring *made = calloc(1, sizeof(*made));

	(void)is_for_peers;
	assert(made != NULL);
	made->transport = transport;
	made->memory = calloc(1, bytes);
	assert(made->memory != NULL);
	fake->last_ring = made->memory;
	fake->rings++;
	*ring = made;
	return 0;
}

static void close_ring(struct transport_ring *ring)
{
	fake_of(ring->transport)->rings--;
	free(ring->memory);
	free(ring);
}

static bool can_write(struct transport_route *route)
{
	(void)route;
	return false;
}

uint32_t rnic_mr_rkey(const struct rnic_mr *mr)
{
	(void)mr;
	return 1;
}

void fake_transport_init(struct fake_transport *transport)
{
	static const struct transport_calls calls = {
		.config = &rpc_conversation_defaults,
		.open_route = open_route,
		.close_route = close_route,
		.is_source = is_source,
		.room = room,
		.send = send_datagram,
	};

	memset(transport, 0, sizeof(*transport));
	transport->base.calls = &calls;
	transport->room = UINT32_MAX;
}

void fake_transport_init_with_rings(struct fake_transport *transport)
{
	static struct transport_calls calls;

	fake_transport_init(transport);
	calls = *transport->base.calls;
	calls.open_ring = open_ring;
	calls.close_ring = close_ring;
	calls.can_write = can_write;
	transport->base.calls = &calls;
}

struct transport_datagram fake_datagram(struct fake_transport *transport, uint32_t peer,
					const struct rpc_packet *packet)
{
	static uint8_t bytes[RPC_DATAGRAM_MAX_BYTES];
	int length = rpc_packet_encode(packet, bytes, sizeof(bytes));

	assert(length > 0);
	return (struct transport_datagram){
		.transport = &transport->base,
		.bytes = bytes,
		.length = (uint32_t)length,
		.source_qpn = peer,
	};
}

struct transport_datagram fake_loss(struct fake_transport *transport, struct transport_route *route)
{
	return (struct transport_datagram){.transport = &transport->base, .route = route};
}
