/* SPDX-License-Identifier: MIT */
/*
 * The state of the device half: the engine, the stack of ports below the engine, and the sessions
 * above it. Only daemon/device and the tests use this file.
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

/* Counts of the loop, for the table of wake-ups per operation. */
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
	struct port *port;		 /* top of the stack; owns all ports below */
	struct capture *capture;	 /* in the stack; NULL: none */
	const struct fault_plan *faults; /* of the stack, for listings; NULL: none */
	struct data_path path;
	struct traffic traffic;
	struct device_loop_counters loop_counters;
};

/* The engine's callbacks. Their context is the set of sessions. */
extern const struct engine_sink device_half_sink;

#endif
