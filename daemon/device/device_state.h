/* SPDX-License-Identifier: MIT */
/*
 * The state of the device: the engine, the stack of ports below the engine, and the sessions
 * above it. Only daemon/device and the tests use this file.
 */
#ifndef DAEMON_DEVICE_DEVICE_STATE_H
#define DAEMON_DEVICE_DEVICE_STATE_H

#include "daemon/device/requests/device_connection.h"
#include "daemon/device/requests/end_rules.h"
#include "daemon/device/session/session_set.h"
#include "daemon/shared/link/device_facts.h"
#include "lib/nic/engine/engine.h"
#include "lib/nic/path/data_path.h"
#include "lib/nic/path/port_stack.h"

/* Counts of the loop, for the table of wake-ups per operation. */
struct device_loop_counters {
	uint64_t turns;
	uint64_t sleeps;
};

struct device {
	struct engine engine;
	struct device_facts facts; /* as the control plane last told them */
	uint64_t facts_sequence;
	const struct device_host *host;
	struct session_set sessions;
	struct connection_set connections;
	struct end_rules ends;
	struct port_stack ports;
	struct data_path path;
	struct device_loop_counters loop_counters;
	bool has_sigbus_guard;
};

/* The engine's callbacks. Their context is the set of sessions. */
extern const struct engine_sink device_sink;

#endif
