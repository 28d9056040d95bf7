/* SPDX-License-Identifier: MIT */
/*
 * Drives control plane and device half: turn after turn while there is something to do, and sleep
 * when there is not. One libev loop watches all descriptors; while packets flow it is looked at
 * only now and then, so that a busy turn costs no system call beyond those of the ports.
 *
 * Invariant: the loop sleeps only after every client was asked to ring and was looked at once more.
 */
#ifndef DAEMON_EVENT_LOOP_H
#define DAEMON_EVENT_LOOP_H

#include <stdint.h>

struct control_plane;
struct event_loop;

enum poll_mode {
	POLL_ADAPTIVE, /* after activity poll a short while, by turns with others, then sleep */
	POLL_BUSY,     /* never sleep */
	POLL_SLEEP,    /* sleep at once */
};

struct event_loop_config {
	enum poll_mode poll;
	uint64_t exit_when_idle_ns; /* without a client for so long: end; UINT64_MAX: never */
};

/* The loop of `control`, which outlives it. NULL: no memory, or no descriptors. */
struct event_loop *event_loop_create(struct control_plane *control,
				     const struct event_loop_config *config);
void event_loop_destroy(struct event_loop *loop);

/* Runs until SIGTERM, SIGINT, or there was no client for long enough. */
void event_loop_run(struct event_loop *loop);

#endif
