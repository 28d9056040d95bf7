/* SPDX-License-Identifier: MIT */
/*
 * Drives the control plane: runs turn after turn while there is something to do, and sleeps
 * otherwise until a descriptor is ready or a deadline comes. One libev loop watches all
 * descriptors. Where all devices are inside programs, the control plane polls for a moment behind
 * work: a request, or a packet of the connection manager, then finds it awake. Else it never polls,
 * for device processes need the processors.
 */
#ifndef DAEMON_CONTROL_MAIN_EVENT_LOOP_H
#define DAEMON_CONTROL_MAIN_EVENT_LOOP_H

#include "daemon/shared/base/poll_mode.h"

#include <stdint.h>

struct control_plane;
struct event_loop;

/*
 * Makes the loop of `control`, which outlives the loop. Only POLL_ADAPTIVE polls. The loop ends
 * after `exit_when_idle_ns` without a client and without a command of rnic-run; UINT64_MAX: never.
 * NULL: no memory, or no descriptors.
 */
struct event_loop *event_loop_create(struct control_plane *control, enum poll_mode poll,
				     uint64_t exit_when_idle_ns);
void event_loop_destroy(struct event_loop *loop);

/* Runs until SIGTERM or SIGINT arrives, or there was no client for the configured time. */
void event_loop_run(struct event_loop *loop);

#endif
