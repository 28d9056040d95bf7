/* SPDX-License-Identifier: MIT */
/*
 * The configuration of the device, as START says; of a client, as CLIENT says
 * (process_message.h); and of a session.
 */
#ifndef DAEMON_DEVICE_DEVICE_CONFIG_H
#define DAEMON_DEVICE_DEVICE_CONFIG_H

#include "lib/nic/base/random_source.h"
#include "lib/nic/port/udp/udp_port.h"
#include "proto/ctl/ctl_message.h"
#include "proto/wire/peer_ports.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DEVICE_REASON_BYTES 256 /* of the sentence that says why the device cannot open */

struct device_connection;
struct device_host;
struct quota_account;
struct rnic_guard;

struct device_config {
	const struct rnic_device_attributes *attributes;
	const struct device_host *host;
	const char *netdev;
	uint32_t netdev_index;
	uint32_t path_mtu_bytes;
	uint32_t speed_mbps;		/* 0: not known */
	bool has_capture_fd;		/* `capture_fd` is the capture; see port_stack.h */
	int capture_fd;			/* the device closes it */
	neighbours_ask *ask_neighbours; /* NULL: no neighbour table to ask */
	uint64_t memory_bytes;		/* that the clients may share with the device, at most */
	uint8_t lane;			/* of all QPNs */
	bool is_program; /* the process is the one client, with signal handlers of its own */
	const struct rnic_guard *guard; /* of the program's memory; NULL: none */
	enum udp_port_kind port;
	enum segmentation_mode segmentation;
	bool has_ecn;
	enum rnic_peer_ports peer_ports;
	const struct rnic_ctl_pkeys_reply *pkeys;
	struct random_source random;	   /* of QPNs and keys */
	_Atomic uint32_t *qp_owners;	   /* struct rnic_stats_file; NULL: nobody asks */
	struct rnic_record_region *record; /* zeroed; NULL: nothing is recorded */
};

/*
 * A client that said HELLO: what the message RNIC_PROCESS_CLIENT carries. The control plane vouches
 * for all of it but the program's name, which the client chose.
 */
struct device_client {
	uint32_t client_id;
	uid_t uid;
	pid_t pid;
	int pid_fd;	   /* a PID descriptor of the client's process; -1: must not be used */
	int connection_fd; /* our end of the device connection */
	char program[RNIC_CTL_NAME_BYTES];
};

/* What the session of a client needs when the client said OPEN_DEVICE. */
struct session_config {
	struct device_connection *connection;
	struct quota_account *account;
	uint32_t client_id;
	pid_t pid;
	int pid_fd;    /* a PID descriptor of the client's process; -1: must not be used */
	int memory_fd; /* the client's /proc/self/mem, as the client says; -1: none */
};

#endif
