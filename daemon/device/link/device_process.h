/* SPDX-License-Identifier: MIT */
/*
 * A device process: the device for the programs of one user, in a process of that user. The
 * control plane starts it with the first of these programs, and says by START what it is to be
 * (process_message.h). From then on the device serves device connections, and the process
 * link brings addresses, facts and clients.
 */
#ifndef DAEMON_DEVICE_LINK_DEVICE_PROCESS_H
#define DAEMON_DEVICE_LINK_DEVICE_PROCESS_H

#include "daemon/device/device_host.h"
#include "daemon/device/link/link_client.h"
#include "daemon/device/link/stats_writer.h"
#include "daemon/shared/base/system_random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;
struct rnic_guard;

/*
 * Makes the calling process what START says, before it opens anything. Negative errno with a
 * sentence in `reason`.
 */
typedef int device_process_take_on(const struct rnic_process_start *start, char *reason,
				   size_t reason_bytes);

/* What kind of process has the device. */
struct device_process_role {
	device_process_take_on *take_on; /* NULL: the process stays as it is */
	bool is_program;		 /* a program with the device inside */
	const struct rnic_guard *guard;	 /* of such a program's memory; NULL: none */
};

struct device_process {
	struct rnic_process_start start;
	struct stats_writer stats;
	struct link_client link;
	struct system_random random;
	struct device_host host;
	struct device *device;
	struct device_process_role role;
};

/*
 * Waits for START on the link `fd`, takes on what START says and opens the device.
 * Negative errno: the control plane knows the reason, or is gone; the process is to end, and
 * nothing needs to be closed.
 */
int device_process_open(struct device_process *process, int fd,
			const struct device_process_role *role);

/* Opens what a process of a device alone needs beside the device. */
void device_process_prepare(void);

/*
 * Answers READY. All descriptors and files that the process needs by itself are open by now.
 * Negative errno: the control plane is gone.
 */
int device_process_begin(struct device_process *process);

/* Answers READY with a failure, a negative errno and a sentence. The process is to end. */
void device_process_refuse(struct device_process *process, int status, const char *reason);

/* The same as device_forget(): in a child of fork(), which has no device. */
void device_process_forget(struct device_process *process);

/* Ends all clients and closes everything. */
void device_process_close(struct device_process *process);

#endif
