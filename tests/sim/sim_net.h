/* SPDX-License-Identifier: MIT */
/*
 * The simulated network and its clock: hosts with one network statistics page each (a port), a link
 * for every ordered pair of hosts, and in front of every host one ingress queue that all who send
 * to it share.
 *
 * Everything is integer nanoseconds and drawn from one seeded generator, so that a run repeats
 * exactly. Datagrams travel as the bytes of the real wire format, ICRC included.
 */
#ifndef TESTS_SIM_SIM_NET_H
#define TESTS_SIM_SIM_NET_H

#include "lib/nic/base/due_queue.h"
#include "lib/nic/base/prng.h"
#include "lib/nic/port/port.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* How a link treats datagrams. Zero is a perfect link. Probabilities are in parts per million. */
struct sim_link {
	uint64_t delay_ns;
	uint64_t jitter_ns;	  /* added, uniform from 0: datagrams overtake each other */
	uint64_t bits_per_second; /* 0: no limit */
	uint32_t queue_bytes;	  /* for the rate; more are lost. 0: no limit */
	uint32_t mark_bytes;	  /* more waiting bytes bring ECN marks. 0: none */
	uint32_t mtu_bytes;	  /* longer datagrams are lost. 0: no limit */
	uint32_t loss_ppm;
	uint32_t burst_ppm;	/* a burst of losses begins */
	uint32_t burst_packets; /* and has this length */
	uint32_t reorder_ppm;	/* goes `reorder_ns` later than its turn */
	uint64_t reorder_ns;
	uint32_t duplicate_ppm;
	uint32_t corrupt_ppm; /* one bit is flipped */
	/* State. */
	uint64_t busy_until_ns;
	uint32_t burst_left;
};

struct sim_packet {
	struct sim_packet *next; /* in an inbox or the free list */
	struct datagram datagram;
	uint32_t dest;
	bool is_in_ingress; /* has passed the link, waits for the host's ingress rate */
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
};

struct sim_nic {
	struct port port;
	struct sim_net *net;
	uint32_t index;
	struct rnic_gid gid;
	struct sim_packet *inbox;
	struct sim_packet **inbox_end;
	struct sim_packet *lent; /* given out by the last receive */
	uint64_t ingress_bits_per_second;
	uint32_t ingress_queue_bytes;
	uint32_t ingress_mark_bytes;
	uint32_t ingress_bytes_seen; /* most that waited there */
	uint64_t ingress_busy_until_ns;
	uint32_t refuse_ppm;	 /* a transmit takes only a part */
	uint64_t writable_at_ns; /* after it refused; else UINT64_MAX */
	bool is_closed;
};

struct sim_net_counters {
	uint64_t sent;
	uint64_t lost;
	uint64_t duplicated;
	uint64_t corrupted;
	uint64_t marked;
	uint64_t delivered;
};

struct sim_net {
	uint64_t now_ns;
	struct prng prng;
	uint32_t host_count;
	struct sim_nic *nics;
	struct sim_link *links;	 /* [from * host_count + to] */
	struct due_queue events; /* packets that reach a host, or the end of its ingress queue */
	struct sim_packet *free;
	uint32_t packets_out; /* taken from the free list and not put back */
	struct sim_net_counters counters;
	FILE *trace; /* NULL: silent */
};

bool sim_net_init(struct sim_net *net, uint32_t host_count, uint64_t seed);
void sim_net_fini(struct sim_net *net);

struct sim_link *sim_net_link(struct sim_net *net, uint32_t from, uint32_t to);

/* When the next datagram moves; UINT64_MAX when none is under way. */
uint64_t sim_net_next_ns(const struct sim_net *net);

/* Moves datagrams due at net->now_ns to ingress queues and inboxes. */
void sim_net_advance(struct sim_net *net);

static inline bool sim_nic_has_arrivals(const struct sim_nic *nic)
{
	return nic->inbox != NULL;
}

#endif
