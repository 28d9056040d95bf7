/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/cut.h"

#include "proto/base/bits.h"

static struct port *cut_next(const struct port *port)
{
	return RNIC_CONTAINER_OF(port, struct cut, port)->next;
}

/* The sockets are emptied: what arrives now must not come when the link is whole again. */
static uint32_t cut_receive(struct port *port, struct datagram *into, uint32_t max, uint64_t now_ns)
{
	struct port *next = cut_next(port);

	port->counters.receive_dropped += next->ops->receive(next, into, max, now_ns);
	return 0;
}

/* The next port still sends what it holds, by an offer of nothing. */
static uint32_t cut_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
			     uint64_t now_ns)
{
	struct port *next = cut_next(port);

	if (count == 0)
		next->ops->transmit(next, datagrams, 0, now_ns);
	port->counters.send_refused += count;
	return count;
}

static uint64_t cut_next_deadline_ns(const struct port *port)
{
	const struct port *next = cut_next(port);

	return next->ops->next_deadline_ns(next);
}

static void cut_watch(struct port *port, void (*watch)(void *context, int fd, bool for_writing),
		      void *context)
{
	struct port *next = cut_next(port);

	next->ops->watch(next, watch, context);
}

static int cut_set_gid(struct port *port, uint32_t index, const struct rnic_gid *gid,
		       const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES])
{
	struct port *next = cut_next(port);

	return next->ops->set_gid(next, index, gid, sockets, text);
}

static void cut_close(struct port *port)
{
	struct port *next = cut_next(port);

	next->ops->close(next);
}

static const struct port_ops cut_ops = {
	.name = "cut",
	.receive = cut_receive,
	.transmit = cut_transmit,
	.next_deadline_ns = cut_next_deadline_ns,
	.watch = cut_watch,
	.set_gid = cut_set_gid,
	.close = cut_close,
};

void cut_init(struct cut *cut, struct port *next)
{
	cut->port.ops = &cut_ops;
	cut->next = next;
}
