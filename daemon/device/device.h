/* SPDX-License-Identifier: MIT */
/*
 * One emulated RNIC: the engine, the connection manager beside it, the stack of ports below it, the
 * sessions above it, and the control socket. Everything in it belongs to one thread.
 *
 *     fault -> capture -> loopback (packets to ourselves) -> multicast (of groups joined) -> UDP
 */
#ifndef DAEMON_DEVICE_DEVICE_H
#define DAEMON_DEVICE_DEVICE_H

#include "base/random_source.h"
#include "cm/cm.h"
#include "network/device_network.h"
#include "path/data_path.h"
#include "device/traffic.h"
#include "engine/engine.h"
#include "network/addressing.h"
#include "port/conditions/capture.h"
#include "port/udp/udp_port.h"
#include "control/ctl_server.h"
#include "device/session/session_set.h"
#include "view/device_view.h"

#define DEVICE_REASON_BYTES 256

struct device_config {
	const char *netdev;  /* NULL: found by address, or chosen */
	const char *address; /* NULL: all of the netdev */
	const char *name;
	const char *socket_path; /* NULL: the default, see socket_path.h */
	const char *fault;	 /* NULL: none */
	const char *capture;	 /* NULL: none */
	enum udp_port_kind port;
	enum segmentation_mode segmentation;
	const char *segmentation_name; /* as given, for listings */
	const char *poll_name;
	bool has_ecn;
	uint16_t pkeys[LIMIT_PKEYS]; /* by index */
	uint32_t pkey_count;	     /* 0: the default key alone */
	struct random_source random; /* of QPNs, keys and the CM's identifiers */
};

/* How often the loop did what, for the table of wake-ups per operation. */
struct device_loop_counters {
	uint64_t turns;
	uint64_t sleeps;
};

struct device {
	struct engine engine;
	struct cm *cm;
	struct session_set sessions;
	struct ctl_server server;
	struct addressing addressing;
	struct device_network network;
	struct device_facts facts;
	struct port *udp; /* bottom of the stack */
	struct port *multicast;
	struct port *loopback;
	struct port *port;		 /* top of the stack, owns all below */
	struct capture *capture;	 /* in the stack; NULL: none */
	const struct fault_plan *faults; /* of the stack, for listings; NULL: none */
	struct data_path path;
	struct traffic traffic;
	struct device_view view;
	struct device_loop_counters loop_counters;
};

/*
 * Opens everything; clients can connect on return. Negative errno with a sentence for people in
 * `reason`; nothing is left open then.
 */
int device_open(struct device *device, const struct device_config *config, uint64_t now_ns,
		char reason[DEVICE_REASON_BYTES]);

/* Ends all sessions and closes everything. */
void device_close(struct device *device);

/*
 * One bounded turn: receive, timers, client work, transmit, deliver. Returns whether there was
 * anything to do, in which case another turn is worth its while.
 */
bool device_turn(struct device *device, uint64_t now_ns);

/* A turn had something to do, or a client's request was served. */
void device_note_activity(struct device *device, uint64_t now_ns);

/* Tells people what happened meanwhile: logs a capture whose file cannot be written, and brings the
 * path view's counters up to date when they are due. */
void device_report(struct device *device, uint64_t now_ns);

/* When the next turn is due even if nothing arrives; UINT64_MAX when never. */
uint64_t device_next_deadline_ns(const struct device *device);

#endif
