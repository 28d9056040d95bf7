/* SPDX-License-Identifier: MIT */
/*
 * The configuration that the control plane gives when it opens the device half, and when it opens a
 * session.
 */
#ifndef DAEMON_DEVICE_DEVICE_CONFIG_H
#define DAEMON_DEVICE_DEVICE_CONFIG_H

#include "base/random_source.h"
#include "ctl/ctl_message.h"
#include "path/general_services.h"
#include "port/udp/udp_port.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DEVICE_GIDS	    RNIC_GIDS_MAX
#define DEVICE_REASON_BYTES 256 /* of the sentence that says why the device half cannot open */

struct client;
struct device_facts;
struct device_host;
struct quota_account;

struct device_half_config {
	const struct general_services *services; /* the services behind queue pair 1 */
	const struct device_facts *facts;
	const struct device_host *host;
	const char *netdev;
	uint32_t netdev_index;
	uint32_t path_mtu_bytes;
	uint32_t speed_mbps;		/* 0: not known */
	const char *fault;		/* NULL: none */
	const char *capture;		/* NULL: none */
	neighbours_ask *ask_neighbours; /* NULL: no neighbour table to ask */
	enum udp_port_kind port;
	enum segmentation_mode segmentation;
	bool has_ecn;
	const struct rnic_gid *gids; /* DEVICE_GIDS by index, zero where there is none */
	const uint16_t *pkeys;	     /* by index */
	uint32_t pkey_count;	     /* 0: the default key alone */
	struct random_source random; /* of QPNs and keys */
};

/* The control plane's facts about a client at HELLO. */
struct session_config {
	struct client *client;
	struct quota_account *account;
	uint32_t client_id;
	pid_t pid;
	int pid_fd;    /* a PID descriptor of the client's process; -1: must not be used */
	int memory_fd; /* the client's /proc/self/mem, as the client says; -1: none */
};

#endif
