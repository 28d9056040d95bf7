/* SPDX-License-Identifier: MIT */
/*
 * Finds who has a UDP port, in the lists of the kernel: bind(2) says only that somebody has the
 * port, and whoever starts a daemon wants to know who.
 */
#ifndef DAEMON_CONTROL_LANES_PORT_HOLDER_H
#define DAEMON_CONTROL_LANES_PORT_HOLDER_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PORT_HOLDER_PROGRAM_BYTES 64

struct port_holder {
	pid_t pid;
	char program[PORT_HOLDER_PROGRAM_BYTES]; /* printable; "?" when unknown */
	bool hangs;				 /* in the kernel, where no signal ends it */
};

/*
 * Stores in `out` the first process with a socket that keeps others from `udp_port` at the address
 * `gid`. Reads /proc, milliseconds for each thousand processes: only for a bind that failed. False
 * when no such process is visible: it is of another user or another PID namespace.
 */
bool port_holder_find(struct port_holder *out, const struct rnic_gid *gid, uint16_t udp_port);

/* Ports `first` to `first` + `count` - 1. */
struct port_range {
	uint16_t first;
	uint32_t count;
};

/*
 * Calls `found` for each UDP socket of this network namespace whose port is in the range, with the
 * user that the kernel's list names. A microsecond for each socket of the namespace. A system
 * without /proc has none.
 */
void port_holder_list(const struct port_range *range,
		      void (*found)(void *context, uint16_t port, uid_t uid), void *context);

/* Calls `found` for each UDP socket of this network namespace, with its inode; the same cost. */
void port_holder_list_inodes(void (*found)(void *context, uint64_t inode), void *context);

#endif
