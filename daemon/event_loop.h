/* SPDX-License-Identifier: MIT */
/*
 * Drives control plane and device half: runs turn after turn while there is something to do, and
 * sleeps otherwise. One libev loop watches all descriptors. While packets flow, the loop polls
 * libev only now and then, so that a busy turn costs no system call beyond those of the ports.
 *
 * Invariant: the loop sleeps only after it has asked every client to wake the daemon, and has
 * looked at every client's doorbells once more.
 */
#ifndef DAEMON_EVENT_LOOP_H
#define DAEMON_EVENT_LOOP_H

#include <stdint.h>

struct control_plane;
struct event_loop;

enum poll_mode {
	POLL_ADAPTIVE, /* poll for a short time after activity, yielding to others, then sleep */
	POLL_BUSY,     /* never sleep */
	POLL_SLEEP,    /* sleep at once */
};

struct event_loop_config {
	enum poll_mode poll;
	uint64_t exit_when_idle_ns; /* time without a client after which the loop ends; UINT64_MAX:
				       never */
};

/* Makes the loop of `control`, which outlives the loop. NULL: no memory, or no descriptors. */
struct event_loop *event_loop_create(struct control_plane *control,
				     const struct event_loop_config *config);
void event_loop_destroy(struct event_loop *loop);

/* Runs until SIGTERM or SIGINT arrives, or there was no client for the configured time. */
void event_loop_run(struct event_loop *loop);

#endif
