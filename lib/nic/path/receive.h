/* SPDX-License-Identifier: MIT */
/*
 * From the port's datagrams to the engine, and to QP 1 those for QP 1: the ICRC is checked, the
 * packet decoded, and a packet that fails is counted and dropped. Nothing here trusts a byte that
 * came from the network.
 */
#ifndef NIC_PATH_RECEIVE_H
#define NIC_PATH_RECEIVE_H

#include "engine/engine.h"
#include "path/general_services.h"
#include "path/path_limits.h"
#include "port/port.h"

#include <stdbool.h>
#include <stdint.h>

struct receive {
	struct engine *engine;
	const struct general_services *services;
	struct port *port;
	bool is_counting_up; /* identifications of packets that came in one buffer */
	uint64_t bad_icrc;
	uint64_t undecodable;
	struct datagram datagrams[LIMIT_TURN_RECEIVES];
};

/* `engine`, `services` and `port` outlive it. */
void receive_init(struct receive *receive, struct engine *engine,
		  const struct general_services *services, struct port *port);

/*
 * Hands what has arrived to the engine and to QP 1, one batch, whose payload is in client memory on
 * return. Returns how many datagrams there were.
 */
uint32_t receive_run(struct receive *receive, uint64_t now_ns);

#endif
