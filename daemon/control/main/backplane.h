/* SPDX-License-Identifier: MIT */
/*
 * What the packets of the device and its device processes are plugged into: the lanes, the control
 * plane's own path on lane 0 with the connection manager behind QP 1, and the device processes. The
 * backplane gives each device process the sockets of its lane, and hands on packets that came to a
 * wrong lane.
 *
 * Where the device has one lane (lane_group.h), each address has one socket. The device process
 * borrows it: meanwhile lane 0 has a send socket in its place, and gets its packets from the device
 * process. Lane 0 reads it while there is no device process.
 */
#ifndef DAEMON_CONTROL_MAIN_BACKPLANE_H
#define DAEMON_CONTROL_MAIN_BACKPLANE_H

#include "daemon/control/lanes/lane_groups.h"
#include "daemon/control/lanes/lane_zero.h"
#include "daemon/control/network/device_network.h"
#include "daemon/control/supervisor/device_launch.h"
#include "daemon/control/supervisor/device_set.h"
#include "lib/nic/path/port_stack.h"
#include "proto/wire/peer_ports.h"

#include <stdbool.h>
#include <stdint.h>

struct addressing;
struct client_set;
struct device_facts;

struct backplane_config {
	const struct addressing *addressing;
	const struct device_facts *facts; /* outlives the backplane */
	struct client_set *clients;	  /* gets the troubles; may be made later */
	const struct general_services *services;
	const char *fault;   /* NULL: none */
	const char *capture; /* NULL: none */
	enum udp_port_kind port;
	enum segmentation_mode segmentation;
	bool has_ecn;
	enum rnic_peer_ports peer_ports;
	uint32_t poll;	      /* enum poll_mode, of device processes */
	uint32_t log_level;   /* enum log_level, of device processes */
	const uid_t *allowed; /* --allow */
	uint32_t allowed_count;
	uid_t owner; /* the user that the daemon will run as */
};

struct backplane {
	struct backplane_config config;
	char program_path[DEVICE_LAUNCH_PATH_BYTES]; /* of device processes */
	const char *program;			     /* device_launch_keep() */
	struct lane_groups lanes;
	struct port_stack ports; /* of lane 0 */
	struct lane_zero zero;
	struct device_set_host host;
	struct device_set devices;
	struct rnic_stats_page stats; /* of lane 0, as a device process has one */
	struct stats_reader stats_reader;
	struct rule_reader rules;
	int capture_fd; /* -1: none */
	uint32_t lent;	/* by GID index: a bit is 1 while the device process has the only socket */
	uint64_t now_ns;
};

/*
 * Opens everything but sockets, which come with the GIDs. Negative errno with a sentence in
 * `reason`; nothing is open then.
 */
int backplane_open(struct backplane *backplane, const struct backplane_config *config,
		   uint64_t now_ns, char *reason);

/* Ends the device processes, sends the packets that wait in QP 1, and closes everything. */
void backplane_close(struct backplane *backplane);

/* How device_network.h tells of addresses. */
struct network_user backplane_network_user(struct backplane *backplane);

/* Gives lane 0 the rules that are loaded for all. */
void backplane_set_rules(struct backplane *backplane);

/* Cuts the link of lane 0, or mends it. */
void backplane_cut(struct backplane *backplane, bool is_cut);

/* Runs a bounded turn: packets of lane 0, messages of device processes. Returns whether there was
 * anything to do. */
bool backplane_turn(struct backplane *backplane, uint64_t now_ns);

/* Whether another turn has work at once. */
bool backplane_has_work(const struct backplane *backplane);

/* Returns the time of the next turn when nothing arrives before; UINT64_MAX: never. */
uint64_t backplane_next_deadline_ns(const struct backplane *backplane);

/*
 * Calls `watch` for each descriptor of lane 0's ports, and says whether to poll it for writing too.
 * The caller polls device_common.epoll_fd as well, for device_set_note_events().
 */
void backplane_watch(struct backplane *backplane,
		     void (*watch)(void *context, int fd, bool for_writing), void *context);

/* Notes troubles of lane 0, and logs a capture that cannot be written. */
void backplane_report(struct backplane *backplane);

#endif
