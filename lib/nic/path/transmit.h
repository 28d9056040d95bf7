/* SPDX-License-Identifier: MIT */
/*
 * From the packets of the engine to the port's datagrams. Headers are encoded into a slab of slots,
 * and client memory is read right behind them, many reads in one system call; so a byte that goes
 * out is copied once by us.
 *
 * Invariant: datagrams that the port did not take are kept, in order, and offered again before
 * anything new is built.
 */
#ifndef LIB_NIC_PATH_TRANSMIT_H
#define LIB_NIC_PATH_TRANSMIT_H

#include "lib/nic/engine/engine.h"
#include "lib/nic/path/packet_notes.h"
#include "lib/nic/path/path_limits.h"
#include "lib/nic/port/port.h"

#include <stdbool.h>
#include <stdint.h>

/* Which packet a slot holds, for the case of a payload that cannot be read. */
struct transmit_origin {
	struct qp *qp;
	struct rnic_psn psn;
	bool is_response;
	bool is_dropped;
	int error; /* of the first read that failed */
};

struct transmit {
	struct engine *engine;
	struct port *port;
	uint8_t *slab;
	uint32_t first; /* datagrams [first, count) wait to be taken by the port */
	uint32_t count;
	struct datagram datagrams[LIMIT_TURN_TRANSMITS];
	struct transmit_origin origins[LIMIT_TURN_TRANSMITS];
	struct memory_batch reads;
	struct packet_notes *notes;
	char (*texts)[CAPTURE_NOTE_BYTES]; /* of the slots; NULL: there is no capture */
};

/* -ENOMEM. `engine`, `port` and `notes` outlive it. */
int transmit_init(struct transmit *transmit, struct engine *engine, struct port *port,
		  struct packet_notes *notes);
void transmit_fini(struct transmit *transmit);

/* From now on notes->capture gets words to the packets that leave. -ENOMEM: it does not. */
int transmit_set_capture(struct transmit *transmit);

/*
 * Sends the datagrams that wait, and then those of the engine, up to a slab full. Returns
 * how many datagrams the port took.
 */
uint32_t transmit_run(struct transmit *transmit, uint64_t now_ns);

/* Whether the port left something: more can go when it becomes writable. */
static inline bool transmit_is_blocked(const struct transmit *transmit)
{
	return transmit->first < transmit->count;
}

#endif
