/* SPDX-License-Identifier: MIT */
/*
 * The state of the device half: the engine, the stack of ports below it, the sessions above it.
 * Private to daemon/device; tests look here as well.
 *
 *     fault -> capture -> loopback (packets to ourselves) -> multicast (of groups joined) -> UDP
 */
#ifndef DAEMON_DEVICE_DEVICE_STATE_H
#define DAEMON_DEVICE_DEVICE_STATE_H

#include "device/session/session_set.h"
#include "device/traffic.h"
#include "engine/engine.h"
#include "path/data_path.h"
#include "port/conditions/capture.h"
#include "port/port.h"

/* How often the loop did what, for the table of wake-ups per operation. */
struct device_loop_counters {
	uint64_t turns;
	uint64_t sleeps;
};

struct device_half {
	struct engine engine;
	struct session_set sessions;
	struct port *udp; /* bottom of the stack */
	struct port *multicast;
	struct port *loopback;
	struct port *port;		 /* top of the stack, owns all below */
	struct capture *capture;	 /* in the stack; NULL: none */
	const struct fault_plan *faults; /* of the stack, for listings; NULL: none */
	struct data_path path;
	struct traffic traffic;
	struct device_loop_counters loop_counters;
};

/* The callbacks that the engine is made with; their context is the set of sessions. */
extern const struct engine_sink device_half_sink;

#endif
