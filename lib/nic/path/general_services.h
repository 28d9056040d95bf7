/* SPDX-License-Identifier: MIT */
/*
 * The general services queue pair (QP 1; IBTA 1.4, 13.5.1) as the holder of its packets sees it:
 * whoever owns the packets fills the struct in, with a connection manager behind it.
 */
#ifndef LIB_NIC_PATH_GENERAL_SERVICES_H
#define LIB_NIC_PATH_GENERAL_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_packet;

struct general_services {
	/* One packet for QP 1 came, its ICRC found right. */
	void (*receive)(void *context, const struct rnic_packet *packet, uint64_t now_ns);
	/* Builds at most one packet, whose payload stays valid until the next call of any of these
	 * functions; false when there is none. */
	bool (*transmit)(void *context, struct rnic_packet *out);
	/* Whether transmit() has something to build. */
	bool (*has_ready)(const void *context);
	/* The instant at which tick() is due; UINT64_MAX: never. */
	uint64_t (*next_deadline_ns)(const void *context);
	void (*tick)(void *context, uint64_t now_ns);
	void *context;
};

#endif
