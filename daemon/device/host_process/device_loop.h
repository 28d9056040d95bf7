/* SPDX-License-Identifier: MIT */
/*
 * Drives a device process by a loop (loop.h), which watches the process link, device connections,
 * doorbells and ports.
 *
 * Invariant: the loop sleeps only after it has asked every client to wake the daemon, and has
 * looked at every client's doorbells once more. Before it sleeps the statistics page is up to date.
 */
#ifndef DAEMON_DEVICE_HOST_PROCESS_DEVICE_LOOP_H
#define DAEMON_DEVICE_HOST_PROCESS_DEVICE_LOOP_H

struct device_loop;
struct device_process;

/*
 * Makes the loop of `process`, which outlives the loop. The loop opens descriptors here only. NULL:
 * no memory, or no descriptors.
 */
struct device_loop *device_loop_create(struct device_process *process);
void device_loop_destroy(struct device_loop *loop);

/* Runs until the link hangs up or SIGTERM arrives. */
void device_loop_run(struct device_loop *loop);

#endif
