/* SPDX-License-Identifier: MIT */
/*
 * The control plane's own data path: lane 0, all queue pair numbers below 0x800000. QP 1 is the
 * only one there that exists; there is no engine. Packets go from the port to the general services
 * and from these to the port, in bounded turns. Nothing here trusts a byte that came from the
 * network or from a device process.
 *
 * The kernel gives a batch whole to the lane of its first packet. A packet that is so here although
 * it is for another lane is misrouted: the owner hands it on to the holder of that lane.
 */
#ifndef DAEMON_CONTROL_LANES_LANE_ZERO_H
#define DAEMON_CONTROL_LANES_LANE_ZERO_H

#include "lib/nic/base/unknown_qp.h"
#include "lib/nic/path/general_services.h"
#include "lib/nic/path/icrc_check.h"
#include "lib/nic/path/path_limits.h"
#include "lib/nic/port/port.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Takes a packet for `lane`, RNIC_LANE_FIRST to RNIC_LANE_LAST, ICRC found right. False: nobody
 * holds that lane, and the packet is lost.
 */
typedef bool lane_zero_misrouted(void *context, uint8_t lane, const struct datagram *datagram);

struct lane_zero_counters {
	uint64_t misrouted; /* for other lanes */
	uint64_t unknown;   /* for a queue pair number of lane 0 that does not exist, or nobody's */
	uint64_t undecodable; /* for QP 1, with a right ICRC */
	uint64_t handed_in;   /* by device processes: lane_zero_deliver() */
};

struct lane_zero {
	struct port *port;
	struct general_services services;
	lane_zero_misrouted *take_misrouted;
	void *misrouted_context;
	struct icrc_check icrc;
	struct unknown_qp unknown;
	struct lane_zero_counters counters;
	uint8_t *slab;	/* of packets that the services built */
	uint32_t first; /* datagrams [first, count) wait to be taken by the port */
	uint32_t count;
	struct datagram transmits[LIMIT_TURN_SERVICE_TRANSMITS];
	struct datagram receives[LIMIT_TURN_RECEIVES];
};

/*
 * -ENOMEM. `port`, which stays the caller's, and the context of `services`, which is copied,
 * outlive `zero`. `take_misrouted` is called in lane_zero_turn() only, with `misrouted_context`.
 */
int lane_zero_init(struct lane_zero *zero, struct port *port,
		   const struct general_services *services, lane_zero_misrouted *take_misrouted,
		   void *misrouted_context);
void lane_zero_fini(struct lane_zero *zero);

/* Another port takes the place of the one before. Not within a turn. */
void lane_zero_set_port(struct lane_zero *zero, struct port *port);

/* One bounded turn: receives, runs the timers, sends. Returns how many packets there were. */
uint32_t lane_zero_turn(struct lane_zero *zero, uint64_t now_ns);

/*
 * Takes a packet of lane 0 that a device process received and passed on: `bytes[0 .. length)`, from
 * the BTH to the ICRC, in memory of the caller that nobody else writes. All of it may be forged,
 * the addresses too. Any `length` is safe.
 */
void lane_zero_deliver(struct lane_zero *zero, const struct rnic_addresses *addresses,
		       uint8_t *bytes, uint32_t length, uint64_t now_ns);

/* Whether packets are ready that the port would take: another turn has work at once. */
bool lane_zero_has_work(const struct lane_zero *zero);

/* The earliest instant at which a turn has something to do unasked; UINT64_MAX: never. */
uint64_t lane_zero_next_deadline_ns(const struct lane_zero *zero);

/* Calls `watch` for each descriptor to poll, and says whether to poll it for writing too. */
void lane_zero_watch(struct lane_zero *zero, void (*watch)(void *context, int fd, bool for_writing),
		     void *context);

#endif
