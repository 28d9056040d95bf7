/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_net.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define IP_AND_UDP_BYTES 46 /* with the Ethernet frame's share: what a datagram adds */

static void event_push(struct sim_net *net, uint64_t at_ns, struct sim_packet *packet)
{
	if (due_queue_reserve(&net->events, net->events.count + 1) != 0)
		abort();
	due_queue_push(&net->events, at_ns, packet);
}

static struct sim_packet *packet_take(struct sim_net *net)
{
	struct sim_packet *packet = net->free;

	if (packet != NULL)
		net->free = packet->next;
	else
		packet = malloc(sizeof(*packet));
	if (packet == NULL)
		abort();
	packet->next = NULL;
	net->packets_out++;
	return packet;
}

static void packet_put(struct sim_net *net, struct sim_packet *packet)
{
	packet->next = net->free;
	net->free = packet;
	net->packets_out--;
}

static bool chance(struct sim_net *net, uint32_t ppm)
{
	return ppm != 0 && prng_below(&net->prng, 1000000) < ppm;
}

static void say(struct sim_net *net, const struct sim_packet *packet, const char *what)
{
	if (net->trace != NULL)
		fprintf(net->trace, "%12" PRIu64 "      (%s, for host %u: opcode 0x%02x)\n",
			net->now_ns, what, packet->dest, packet->bytes[0]);
}

static void lose(struct sim_net *net, struct sim_packet *packet, const char *why)
{
	say(net, packet, why);
	net->counters.lost++;
	packet_put(net, packet);
}

static void flip_bit(struct sim_packet *packet, uint64_t bit)
{
	packet->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	packet->datagram.damage = 1 + (uint32_t)bit;
}

/* The bytes that wait in a queue of that rate that is busy until then. */
static uint32_t waiting_bytes(uint64_t now_ns, uint64_t bits_per_second, uint64_t busy_until_ns)
{
	uint64_t wait_ns = busy_until_ns > now_ns ? busy_until_ns - now_ns : 0;

	return (uint32_t)(wait_ns / 8 * (bits_per_second / 1000000) / 1000);
}

/* As a switch does to packets that say that they understand it (RFC 3168). */
static void mark(struct sim_net *net, struct sim_packet *packet)
{
	if ((packet->datagram.addresses.traffic_class & 3) == 0)
		return;
	packet->datagram.addresses.traffic_class |= 3;
	net->counters.marked++;
}

/*
 * When a datagram of `bytes` that comes now is through a queue of that rate; false when the queue
 * is full. `*busy_until_ns` is the queue's state.
 */
static bool pass_queue(uint64_t now_ns, uint64_t bits_per_second, uint32_t queue_bytes,
		       uint64_t *busy_until_ns, uint32_t bytes)
{
	uint64_t start_ns = *busy_until_ns > now_ns ? *busy_until_ns : now_ns;
	uint64_t bits = 8 * ((uint64_t)bytes + IP_AND_UDP_BYTES);

	if (bits_per_second == 0) {
		*busy_until_ns = now_ns;
		return true;
	}
	if (queue_bytes != 0 &&
	    waiting_bytes(now_ns, bits_per_second, start_ns) + bytes > queue_bytes)
		return false;
	*busy_until_ns = start_ns + bits * 1000000000 / bits_per_second;
	return true;
}

static void schedule(struct sim_net *net, struct sim_link *link, struct sim_packet *packet)
{
	uint64_t at_ns = link->busy_until_ns + link->delay_ns;

	if (link->jitter_ns != 0)
		at_ns += prng_below(&net->prng, link->jitter_ns + 1);
	if (chance(net, link->reorder_ppm))
		at_ns += link->reorder_ns;
	event_push(net, at_ns, packet);
}

static bool is_lost(struct sim_net *net, struct sim_link *link)
{
	if (link->burst_left == 0 && chance(net, link->burst_ppm))
		link->burst_left = link->burst_packets;
	if (link->burst_left != 0) {
		link->burst_left--;
		return true;
	}
	return chance(net, link->loss_ppm);
}

static void send_over(struct sim_net *net, struct sim_link *link, struct sim_packet *packet)
{
	uint32_t length = packet->datagram.length;

	if (link->mtu_bytes != 0 && length > link->mtu_bytes) {
		lose(net, packet, "lost: too long for the link");
		return;
	}
	if (is_lost(net, link)) {
		lose(net, packet, "lost on the link");
		return;
	}
	if (!pass_queue(net->now_ns, link->bits_per_second, link->queue_bytes, &link->busy_until_ns,
			length)) {
		lose(net, packet, "lost: the link's queue is full");
		return;
	}
	if (link->mark_bytes != 0 && waiting_bytes(net->now_ns, link->bits_per_second,
						   link->busy_until_ns) > link->mark_bytes)
		mark(net, packet);
	if (packet->datagram.damage == 0 && chance(net, link->corrupt_ppm)) {
		say(net, packet, "corrupted");
		net->counters.corrupted++;
		flip_bit(packet, prng_below(&net->prng, 8 * (uint64_t)length));
	}
	if (chance(net, link->duplicate_ppm)) {
		struct sim_packet *copy = packet_take(net);

		*copy = *packet;
		copy->datagram.bytes = copy->bytes;
		say(net, packet, "duplicated");
		net->counters.duplicated++;
		schedule(net, link, copy);
	}
	schedule(net, link, packet);
}

static struct sim_nic *find_nic(struct sim_net *net, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < net->host_count; i++) {
		if (rnic_gid_equal(&net->nics[i].gid, gid))
			return &net->nics[i];
	}
	return NULL;
}

static void nic_send(struct sim_nic *nic, const struct datagram *datagram)
{
	struct sim_net *net = nic->net;
	struct sim_nic *dest = find_nic(net, &datagram->addresses.dest);
	struct sim_packet *packet;
	uint16_t identification;

	net->counters.sent++;
	nic->port.counters.sent_datagrams++;
	if (dest == NULL) {
		nic->port.counters.send_refused++;
		net->counters.lost++;
		return;
	}
	packet = packet_take(net);
	packet->datagram = *datagram;
	packet->datagram.bytes = packet->bytes;
	packet->datagram.length = datagram->length + RNIC_ICRC_BYTES;
	packet->dest = dest->index;
	packet->is_in_ingress = false;
	memcpy(packet->bytes, datagram->bytes, datagram->length);
	identification = (uint16_t)(net->counters.sent % 4);
	rnic_icrc_write(packet->bytes + datagram->length,
			rnic_icrc_compute(&datagram->addresses, identification, packet->bytes,
					  datagram->length));
	if (datagram->damage != 0)
		flip_bit(packet, datagram->damage - 1);
	send_over(net, sim_net_link(net, nic->index, dest->index), packet);
}

static uint32_t nic_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
			     uint64_t now_ns)
{
	struct sim_nic *nic = RNIC_CONTAINER_OF(port, struct sim_nic, port);

	nic->writable_at_ns = UINT64_MAX;
	if (count != 0 && chance(nic->net, nic->refuse_ppm)) {
		count = (uint32_t)prng_below(&nic->net->prng, count);
		nic->writable_at_ns = now_ns + 1000;
	}
	for (uint32_t i = 0; i < count; i++)
		nic_send(nic, &datagrams[i]);
	return count;
}

static uint32_t nic_receive(struct port *port, struct datagram *into, uint32_t max, uint64_t now_ns)
{
	struct sim_nic *nic = RNIC_CONTAINER_OF(port, struct sim_nic, port);
	uint32_t count = 0;

	while (nic->lent != NULL) {
		struct sim_packet *packet = nic->lent;

		nic->lent = packet->next;
		packet_put(nic->net, packet);
	}
	while (count < max && nic->inbox != NULL) {
		struct sim_packet *packet = nic->inbox;

		nic->inbox = packet->next;
		if (nic->inbox == NULL)
			nic->inbox_end = &nic->inbox;
		packet->next = nic->lent;
		nic->lent = packet;
		packet->datagram.received_ns = now_ns;
		into[count++] = packet->datagram;
	}
	port->counters.received_datagrams += count;
	return count;
}

static uint64_t nic_next_deadline_ns(const struct port *port)
{
	return RNIC_CONTAINER_OF(port, struct sim_nic, port)->writable_at_ns;
}

static void nic_watch(struct port *port, void (*watch)(void *context, int fd, bool for_writing),
		      void *context)
{
	(void)port;
	(void)watch;
	(void)context;
}

static void nic_close(struct port *port)
{
	RNIC_CONTAINER_OF(port, struct sim_nic, port)->is_closed = true;
}

static const struct port_ops nic_ops = {
	.name = "simulated",
	.receive = nic_receive,
	.transmit = nic_transmit,
	.next_deadline_ns = nic_next_deadline_ns,
	.watch = nic_watch,
	.close = nic_close,
};

bool sim_net_init(struct sim_net *net, uint32_t host_count, uint64_t seed)
{
	*net = (struct sim_net){.host_count = host_count};
	prng_init(&net->prng, seed);
	net->nics = calloc(host_count, sizeof(*net->nics));
	net->links = calloc((size_t)host_count * host_count, sizeof(*net->links));
	if (net->nics == NULL || net->links == NULL) {
		sim_net_fini(net);
		return false;
	}
	for (uint32_t i = 0; i < host_count; i++) {
		const uint8_t address[4] = {10, 0, (uint8_t)(i >> 8), (uint8_t)i};
		struct sim_nic *nic = &net->nics[i];

		nic->port.ops = &nic_ops;
		nic->net = net;
		nic->index = i;
		nic->gid = rnic_gid_from_ipv4(address);
		nic->inbox_end = &nic->inbox;
		nic->writable_at_ns = UINT64_MAX;
	}
	return true;
}

static void free_packets(struct sim_packet *packet)
{
	while (packet != NULL) {
		struct sim_packet *next = packet->next;

		free(packet);
		packet = next;
	}
}

void sim_net_fini(struct sim_net *net)
{
	while (net->events.count != 0)
		free(due_queue_pop(&net->events));
	due_queue_fini(&net->events);
	for (uint32_t i = 0; net->nics != NULL && i < net->host_count; i++) {
		free_packets(net->nics[i].inbox);
		free_packets(net->nics[i].lent);
	}
	free_packets(net->free);
	free(net->links);
	free(net->nics);
	*net = (struct sim_net){0};
}

struct sim_link *sim_net_link(struct sim_net *net, uint32_t from, uint32_t to)
{
	return &net->links[(size_t)from * net->host_count + to];
}

uint64_t sim_net_next_ns(const struct sim_net *net)
{
	return due_queue_earliest_ns(&net->events);
}

static void enter_ingress(struct sim_net *net, struct sim_nic *nic, struct sim_packet *packet)
{
	uint32_t waiting;

	if (!pass_queue(net->now_ns, nic->ingress_bits_per_second, nic->ingress_queue_bytes,
			&nic->ingress_busy_until_ns, packet->datagram.length)) {
		lose(net, packet, "lost: the host's receive queue is full");
		return;
	}
	waiting = waiting_bytes(net->now_ns, nic->ingress_bits_per_second,
				nic->ingress_busy_until_ns);
	if (waiting > nic->ingress_bytes_seen)
		nic->ingress_bytes_seen = waiting;
	if (nic->ingress_mark_bytes != 0 && waiting > nic->ingress_mark_bytes)
		mark(net, packet);
	packet->is_in_ingress = true;
	event_push(net, nic->ingress_busy_until_ns, packet);
}

void sim_net_advance(struct sim_net *net)
{
	while (due_queue_earliest_ns(&net->events) <= net->now_ns) {
		struct sim_packet *packet = due_queue_pop(&net->events);
		struct sim_nic *nic = &net->nics[packet->dest];

		if (!packet->is_in_ingress && nic->ingress_bits_per_second != 0) {
			enter_ingress(net, nic, packet);
			continue;
		}
		net->counters.delivered++;
		packet->next = NULL;
		*nic->inbox_end = packet;
		nic->inbox_end = &packet->next;
	}
}
