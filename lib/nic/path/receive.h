/* SPDX-License-Identifier: MIT */
/*
 * From the port's datagrams to the engine, and to the connection manager those for its queue pair:
 * the ICRC is checked, the packet decoded, and what is wrong with either is counted and dropped.
 * Nothing here trusts a byte that came from the network.
 */
#ifndef NIC_PATH_RECEIVE_H
#define NIC_PATH_RECEIVE_H

#include "cm/cm.h"
#include "engine/engine.h"
#include "engine/limits.h"
#include "port/port.h"

#include <stdbool.h>
#include <stdint.h>

struct receive {
	struct engine *engine;
	struct cm *cm;
	struct port *port;
	bool is_counting_up; /* identifications of packets that came in one buffer */
	uint64_t bad_icrc;
	uint64_t undecodable;
	struct datagram datagrams[LIMIT_TURN_RECEIVES];
};

/* `engine`, `cm` and `port` outlive it. */
void receive_init(struct receive *receive, struct engine *engine, struct cm *cm, struct port *port);

/*
 * Hands what has arrived to engine and cm, one batch, whose payload is in client memory on return.
 * Returns how many datagrams there were.
 */
uint32_t receive_run(struct receive *receive, uint64_t now_ns);

#endif
