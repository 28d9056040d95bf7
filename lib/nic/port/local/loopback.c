/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/local/loopback.h"

#include "lib/nic/port/udp/segment.h"
#include "proto/base/bits.h"
#include "proto/base/lane.h"
#include "proto/wire/gid.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLOT_BYTES  ((RNIC_PACKET_BYTES_MAX + 63) & ~63) /* whole cache lines */
#define SLOTS_BYTES ((size_t)LOOPBACK_QUEUE_MAX * SLOT_BYTES)

/* head <= free_from + LOOPBACK_QUEUE_MAX; the receiver holds the slots [free_from, tail). */
struct loopback {
	struct port port;
	struct port *next;
	struct rnic_gid gids[LOOPBACK_GIDS_MAX]; /* zero: none */
	uint32_t gid_end; /* no gids from here on: each outbound datagram asks about all others */
	uint8_t lane;
	uint32_t head;	    /* slots filled so far */
	uint32_t tail;	    /* slots received so far */
	uint32_t free_from; /* slots given back so far */
	uint8_t *slots;	    /* SLOTS_BYTES, of which only the used ones are touched */
	struct datagram queue[LOOPBACK_QUEUE_MAX];
};

_Static_assert((LOOPBACK_QUEUE_MAX & (LOOPBACK_QUEUE_MAX - 1)) == 0, "counters wrap");

static struct loopback *loopback_from_port(struct port *port)
{
	return RNIC_CONTAINER_OF(port, struct loopback, port);
}

static bool loopback_is_own(const struct loopback *self, const struct datagram *datagram)
{
	const struct rnic_gid *gid = &datagram->addresses.dest;

	if (rnic_gid_is_zero(gid) || !rnic_lane_has(self->lane, segment_dest_qpn(datagram)))
		return false;
	for (uint32_t i = 0; i < self->gid_end; i++)
		if (rnic_gid_equal(&self->gids[i], gid))
			return true;
	return false;
}

static uint32_t queue_take(struct loopback *self, struct datagram *into, uint32_t max,
			   uint64_t now_ns)
{
	uint32_t count = 0;

	while (count < max && self->tail != self->head) {
		into[count] = self->queue[self->tail % LOOPBACK_QUEUE_MAX];
		into[count].received_ns = now_ns;
		self->port.counters.received_bytes += into[count].length;
		self->tail++;
		count++;
	}
	self->port.counters.received_datagrams += count;
	return count;
}

/*
 * Half of `max` is for the port below if it can fill that, whatever the number of our own
 * datagrams.
 */
static uint32_t loopback_receive(struct port *port, struct datagram *into, uint32_t max,
				 uint64_t now_ns)
{
	struct loopback *self = loopback_from_port(port);
	uint32_t count;

	self->free_from = self->tail;
	count = queue_take(self, into, self->next != NULL ? max / 2 : max, now_ns);
	if (self->next != NULL)
		count += self->next->ops->receive(self->next, into + count, max - count, now_ns);
	return count + queue_take(self, into + count, max - count, now_ns);
}

/*
 * The port from which the lane would send the packet: the receiver may take packets of rnicd alone
 * (peer_ports.h). Source and destination are in the same lane.
 */
static uint16_t source_port_of(const struct loopback *self, const struct datagram *datagram)
{
	const uint32_t dest_qpn = segment_dest_qpn(datagram);

	return self->lane == RNIC_LANE_NONE ? RNIC_UDP_PORT
					    : rnic_lane_send_port(dest_qpn, dest_qpn);
}

static bool try_enqueue(struct loopback *self, struct datagram *datagram)
{
	uint32_t slot = self->head % LOOPBACK_QUEUE_MAX;
	uint32_t bytes = datagram->length + RNIC_ICRC_BYTES;
	uint8_t *copy = self->slots + (size_t)slot * SLOT_BYTES;

	if (self->head - self->free_from == LOOPBACK_QUEUE_MAX)
		return false;
	assert(bytes <= RNIC_PACKET_BYTES_MAX);
	segment_seal(datagram, 1, source_port_of(self, datagram));
	memcpy(copy, datagram->bytes, bytes);
	self->queue[slot] = (struct datagram){
		.addresses = datagram->addresses,
		.bytes = copy,
		.length = bytes,
	};
	self->head++;
	self->port.counters.sent_datagrams++;
	self->port.counters.sent_bytes += bytes;
	return true;
}

/* Passes the datagrams for others from the front of `datagrams` on to the next port. */
static uint32_t pass_on(struct loopback *self, struct datagram *datagrams, uint32_t count,
			uint64_t now_ns, uint32_t *run_length)
{
	uint32_t length = 1;

	while (length < count && !loopback_is_own(self, &datagrams[length]))
		length++;
	*run_length = length;
	if (self->next != NULL)
		return self->next->ops->transmit(self->next, datagrams, length, now_ns);
	self->port.counters.send_refused += length;
	return length;
}

static uint32_t loopback_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
				  uint64_t now_ns)
{
	struct loopback *self = loopback_from_port(port);
	uint32_t taken = 0;

	while (taken < count) {
		uint32_t run_length, passed;

		if (loopback_is_own(self, &datagrams[taken])) {
			if (!try_enqueue(self, &datagrams[taken]))
				break;
			taken++;
			continue;
		}
		passed = pass_on(self, datagrams + taken, count - taken, now_ns, &run_length);
		taken += passed;
		if (passed < run_length)
			break;
	}
	return taken;
}

static uint64_t loopback_next_deadline_ns(const struct port *port)
{
	const struct loopback *self = RNIC_CONTAINER_OF(port, const struct loopback, port);

	if (self->tail != self->head)
		return 0;
	return self->next != NULL ? self->next->ops->next_deadline_ns(self->next) : UINT64_MAX;
}

static void loopback_watch(struct port *port,
			   void (*watch)(void *context, int fd, bool for_writing), void *context)
{
	struct loopback *self = loopback_from_port(port);

	if (self->next != NULL)
		self->next->ops->watch(self->next, watch, context);
}

static int loopback_set_gid(struct port *port, uint32_t index, const struct rnic_gid *gid,
			    const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES])
{
	static const struct rnic_gid none;
	struct loopback *self = loopback_from_port(port);
	int result = 0;

	assert(self->next != NULL || sockets == NULL);
	if (self->next != NULL)
		result = self->next->ops->set_gid(self->next, index, gid, sockets, text);
	if (result != 0)
		return result;
	self->gids[index] = gid != NULL ? *gid : none;
	if (gid != NULL && index >= self->gid_end)
		self->gid_end = index + 1;
	return 0;
}

static void loopback_close(struct port *port)
{
	struct loopback *self = loopback_from_port(port);

	if (self->next != NULL)
		self->next->ops->close(self->next);
	munmap(self->slots, SLOTS_BYTES);
	free(self);
}

static const struct port_ops loopback_ops = {
	.name = "loopback",
	.receive = loopback_receive,
	.transmit = loopback_transmit,
	.next_deadline_ns = loopback_next_deadline_ns,
	.watch = loopback_watch,
	.set_gid = loopback_set_gid,
	.close = loopback_close,
};

struct port *loopback_create(struct port *next, const struct rnic_gid *gids, uint32_t gid_count,
			     uint8_t lane)
{
	struct loopback *self = calloc(1, sizeof(*self));

	assert(gid_count <= LOOPBACK_GIDS_MAX);
	if (self == NULL)
		return NULL;
	self->slots =
		mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (self->slots == MAP_FAILED) {
		free(self);
		return NULL;
	}
	self->port.ops = &loopback_ops;
	self->next = next;
	self->lane = lane;
	self->gid_end = gid_count;
	if (gid_count > 0)
		memcpy(self->gids, gids, gid_count * sizeof(gids[0]));
	return &self->port;
}
