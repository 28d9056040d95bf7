/* SPDX-License-Identifier: MIT */
/*
 * The command line of rnicd. options_parse() checks only the form; the daemon finds out later
 * whether an interface or a path exists.
 */
#ifndef DAEMON_CONTROL_MAIN_OPTIONS_H
#define DAEMON_CONTROL_MAIN_OPTIONS_H

#include "daemon/shared/base/log.h"
#include "lib/wait/awake.h"
#include "lib/nic/engine/engine_limits.h"
#include "lib/nic/port/udp/segmentation.h"
#include "lib/nic/port/udp/udp_port.h"
#include "proto/wire/peer_ports.h"

#include <stdint.h>
#include <sys/types.h>

#define OPTIONS_ALLOWED_MAX 64

struct rnicd_options {
	const char *netdev; /* NULL: not given; the same for the next ones */
	const char *address;
	const char *socket_path;
	const char *user;
	const char *group;
	const char *fault;
	const char *capture;
	const char *name;
	const char *pci; /* NULL: not given */
	int numa_node;	 /* -1: not given */
	const char *segmentation_name;
	const char *poll_name;
	mode_t socket_mode;
	uint16_t pkeys[LIMIT_PKEYS];
	uint32_t pkey_count; /* 0: not given */
	uid_t allowed[OPTIONS_ALLOWED_MAX];
	uint32_t allowed_count; /* 0: not given */
	bool has_ecn;
	uint8_t cm_tos;
	enum udp_port_kind port;
	enum segmentation_mode segmentation;
	enum poll_mode poll;
	enum rnic_peer_ports peer_ports;
	enum log_level log_level;
	uint64_t exit_when_idle_ns; /* UINT64_MAX: never */
	int ready_fd;		    /* -1: none */
};

/* Reads the command line. Ends the program for --help, for --version and for a wrong option. */
void options_parse(struct rnicd_options *options, int argc, char **argv);

#endif
