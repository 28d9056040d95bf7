/* SPDX-License-Identifier: MIT */
/*
 * Drives the control plane by a loop (loop.h), which watches control connections, device processes,
 * the network interface and the ports of lane 0. After work the loop polls for a moment: a request,
 * or a packet of the connection manager, then finds it awake.
 */
#ifndef DAEMON_CONTROL_MAIN_EVENT_LOOP_H
#define DAEMON_CONTROL_MAIN_EVENT_LOOP_H

#include "lib/wait/awake.h"

#include <stdbool.h>
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

/*
 * Runs until SIGTERM or SIGINT arrives, or there was no client for the configured time; after
 * SIGUSR1 for a second. True: SIGUSR1 has ended the loop so, and another daemon is to begin.
 */
bool event_loop_run(struct event_loop *loop);

#endif
