/* SPDX-License-Identifier: MIT */
/*
 * From the port's datagrams to the engine: the ICRC is checked, the packet decoded, and a packet
 * that fails is counted and dropped. Nothing here trusts a byte that came from the network.
 *
 * The kernel gives a batch of packets to the lane of the first one, so that a packet may come to a
 * lane (lane.h) that is not the packet's. The owner gets such a misrouted packet, and sees that it
 * reaches the lane's process: receive_deliver() there.
 */
#ifndef LIB_NIC_PATH_RECEIVE_H
#define LIB_NIC_PATH_RECEIVE_H

#include "lib/nic/engine/engine.h"
#include "lib/nic/path/icrc_check.h"
#include "lib/nic/path/packet_notes.h"
#include "lib/nic/path/path_limits.h"
#include "lib/nic/port/port.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Takes a datagram for another lane, its ICRC included and right; valid during the call. False: it
 * is lost.
 */
typedef bool receive_misrouted(void *context, const struct datagram *datagram);

struct receive {
	struct engine *engine;
	struct port *port;
	struct icrc_check icrc;
	const struct packet_notes *notes;
	uint8_t lane;
	receive_misrouted *take_misrouted;
	void *misrouted_context;
	uint64_t misrouted;
	uint64_t lost_misrouted; /* of these, that the owner did not take */
	uint64_t undecodable;
	struct datagram datagrams[LIMIT_TURN_RECEIVES];
};

/* `engine`, `port` and `notes` outlive it. No lanes at first. */
void receive_init(struct receive *receive, struct engine *engine, struct port *port,
		  const struct packet_notes *notes);

/* The lane, and what gets packets for others; `take_misrouted` may be NULL: they are dropped. */
void receive_set_lane(struct receive *receive, uint8_t lane, receive_misrouted *take_misrouted,
		      void *context);

/*
 * Takes a packet that came to another process: `length` bytes from the BTH to the ICRC, in memory
 * that nobody else writes. The ICRC is checked here again: that process may be a hostile user's.
 * The payload is in client memory on return.
 */
void receive_deliver(struct receive *receive, const struct rnic_addresses *addresses,
		     uint8_t *bytes, uint32_t length, uint64_t now_ns);

/*
 * Hands what has arrived to the engine, one batch, whose payload is in client memory on return.
 * Returns how many datagrams there were.
 */
uint32_t receive_run(struct receive *receive, uint64_t now_ns);

#endif
