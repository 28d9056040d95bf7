/* SPDX-License-Identifier: MIT */
/*
 * The control plane of one emulated RNIC: the network interface that the device follows, the
 * connection manager, the clients with their control socket, the path view, and the backplane with
 * the lanes and the device processes. One thread uses everything here.
 */
#ifndef DAEMON_CONTROL_MAIN_CONTROL_PLANE_H
#define DAEMON_CONTROL_MAIN_CONTROL_PLANE_H

#include "daemon/control/clients/client_set.h"
#include "daemon/control/main/backplane.h"
#include "daemon/control/main/link_flap.h"
#include "daemon/control/network/addressing.h"
#include "daemon/control/network/device_network.h"
#include "daemon/control/server/ctl_server.h"
#include "daemon/control/view/device_view.h"
#include "daemon/shared/base/identity.h"
#include "daemon/shared/link/device_facts.h"
#include "lib/nic/base/random_source.h"
#include "lib/nic/engine/engine_limits.h"
#include "proto/wire/peer_ports.h"

#include <stdbool.h>
#include <stdint.h>

#define CONTROL_REASON_BYTES 256

struct control_config {
	const char *netdev;  /* NULL: found by address, or chosen by the daemon */
	const char *address; /* NULL: all addresses of the netdev */
	const char *name;
	const char *pci; /* NULL: no PCI device */
	int numa_node;
	const char *socket_path; /* NULL: the default path, see socket_path.h */
	mode_t socket_mode;	 /* of the file: who may connect */
	int taken_fd;		 /* the control socket, of a service manager; -1: none */
	struct identity user;	 /* that the process becomes before it serves; often its own */
	const char *fault;	 /* NULL: none */
	const char *capture;	 /* NULL: none */
	enum udp_port_kind port;
	enum segmentation_mode segmentation;
	const char *segmentation_name; /* as given, for listings */
	const char *poll_name;
	uint32_t poll;	      /* enum poll_mode, of device processes */
	uint32_t log_level;   /* enum log_level */
	const uid_t *allowed; /* --allow; stays the caller's */
	uint32_t allowed_count;
	bool has_ecn;
	enum rnic_peer_ports peer_ports;
	uint8_t cm_tos;		     /* of connections whose program sets no type of service */
	uint16_t pkeys[LIMIT_PKEYS]; /* by index */
	uint32_t pkey_count;	     /* 0: the default key alone */
	struct random_source random; /* of QPNs, keys and the CM's identifiers */
};

struct control_plane {
	struct addressing addressing;
	struct device_network network;
	struct device_facts facts;
	struct device_settings settings;
	struct cm *cm;
	struct backplane backplane;
	struct client_set clients;
	struct ctl_server server;
	struct pci_shape pci;
	struct device_view view;
	struct link_flap flap;
};

/*
 * Opens everything; clients can connect on return. On failure returns a negative errno with a
 * sentence for people in `reason`, and leaves nothing open.
 */
int control_plane_open(struct control_plane *control, const struct control_config *config,
		       uint64_t now_ns, char reason[CONTROL_REASON_BYTES]);

/* Ends all clients and closes everything. */
void control_plane_close(struct control_plane *control);

/*
 * Runs one bounded turn: packets of lane 0, messages of device processes, timers, the ends of
 * clients. Returns whether there was anything to do; then the caller runs another turn.
 */
bool control_plane_turn(struct control_plane *control, uint64_t now_ns);

/* Returns whether any client is connected. */
bool control_plane_has_clients(const struct control_plane *control);

/*
 * Ends the device processes that no client uses. Returns whether none is left: then
 * control_plane_close() waits for nobody. Meanwhile clients can connect.
 */
bool control_plane_retire(struct control_plane *control);

/*
 * Reports what happened meanwhile: troubles, a capture whose file cannot be written, and the path
 * view's counters when they are due.
 */
void control_plane_report(struct control_plane *control, uint64_t now_ns);

/* Returns the time of the next turn when nothing arrives before; UINT64_MAX: never. */
uint64_t control_plane_next_deadline_ns(const struct control_plane *control);

#endif
