/* SPDX-License-Identifier: MIT */
/*
 * The datagrams that rules of faults hold back, in memory of their own, and the order in which they
 * go on: by time, or once enough others have overtaken them. A pool serves the lanes of both
 * directions. Its memory comes in blocks, as it is needed, and goes when the pool does.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_HELD_DATAGRAMS_H
#define LIB_NIC_PORT_CONDITIONS_HELD_DATAGRAMS_H

#include "lib/nic/base/due_queue.h"
#include "lib/nic/base/list.h"
#include "lib/nic/port/port.h"

/* The most datagrams that are held at once: 100 ms of 10 Gb/s at a path MTU of 1024. */
#define HELD_MAX 131072

#define HELD_BLOCK_DATAGRAMS 256
#define HELD_BLOCKS_MAX	     (HELD_MAX / HELD_BLOCK_DATAGRAMS)

struct held {
	struct list node;
	struct datagram datagram; /* its bytes are those in the last member */
	uint64_t due_ns;	  /* while others may overtake the datagram */
	uint64_t delay_ns;	  /* applied once enough others have overtaken the datagram */
	uint32_t behind;
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
};

struct held_pool {
	struct list free;
	struct held *blocks[HELD_BLOCKS_MAX];
	uint32_t block_count;
	uint32_t block_used; /* datagrams of the last block that were ever used */
};

/* The held datagrams of one direction. */
struct held_lane {
	struct due_queue due;
	struct list overtaken; /* waiting for others to pass, by due_ns */
	uint32_t held; /* of the pool, by the lane's owner: those that left the queues too */
};

void held_pool_init(struct held_pool *pool);
void held_pool_fini(struct held_pool *pool);
struct held *held_pool_take(struct held_pool *pool); /* NULL: full, or no memory */
void held_pool_give(struct held_pool *pool, struct held *held);

/* -ENOMEM: held_lane_fini() is right all the same. */
int held_lane_init(struct held_lane *lane);
void held_lane_fini(struct held_lane *lane);

/*
 * Notes that `passed` more datagrams, or time, have gone by: datagrams that waited for it become
 * due.
 */
void held_lane_advance(struct held_lane *lane, uint32_t passed, uint64_t now_ns);

/* The first datagram that is due, which stays in the queue, or NULL. */
struct held *held_lane_first_due(const struct held_lane *lane, uint64_t now_ns);
uint64_t held_lane_deadline_ns(const struct held_lane *lane);

#endif
