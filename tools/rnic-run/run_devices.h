/* SPDX-License-Identifier: MIT */
/*
 * The devices of a command: one for each socket, each of a daemon that answers there or that is
 * started there. The command finds the sockets in RNIC_SOCKET.
 */
#ifndef TOOLS_RNIC_RUN_RUN_DEVICES_H
#define TOOLS_RNIC_RUN_RUN_DEVICES_H

#include "lib/client/native/socket_list.h"
#include "tools/rnic-run/captive.h"

/* Values of an option that is given once for each new daemon. */
struct run_values {
	uint32_t count;
	const char *values[RNIC_SOCKETS_MAX];
};

struct run_devices {
	struct rnic_socket_list sockets;
	struct run_values netdevs;
	struct run_values addresses;
	const char *fault;
	bool may_start;
};

/* Appends a value. -E2BIG: there are more than sockets. */
int run_values_add(struct run_values *values, const char *value);

/*
 * Finds or starts the daemon of each socket. Leaves out the sockets of a directory where nobody
 * serves. Negative errno after a complaint.
 */
int run_devices_ensure(struct run_devices *devices);

/* The value of RNIC_SOCKET for the command, which the caller frees; NULL: no memory. */
char *run_devices_join(const struct run_devices *devices);

#endif
