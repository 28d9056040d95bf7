/* SPDX-License-Identifier: MIT */
/*
 * Drives a device: turn after turn while there is something to do, and sleep when there is not. One
 * libev loop watches all descriptors; while packets flow it is looked at only now and then, so that
 * a busy turn costs no system call beyond those of the ports.
 *
 * Invariant: the loop sleeps only after every client was asked to ring and was looked at once more.
 */
#ifndef DAEMON_DEVICE_DEVICE_LOOP_H
#define DAEMON_DEVICE_DEVICE_LOOP_H

#include <stdint.h>

struct device;
struct device_loop;

enum poll_mode {
	POLL_ADAPTIVE, /* after activity poll a short while, by turns with others, then sleep */
	POLL_BUSY,     /* never sleep */
	POLL_SLEEP,    /* sleep at once */
};

struct device_loop_config {
	enum poll_mode poll;
	uint64_t exit_when_idle_ns; /* without a client for so long: end; UINT64_MAX: never */
};

/* The loop of `device`, which outlives it. NULL: no memory, or no descriptors. */
struct device_loop *device_loop_create(struct device *device,
				       const struct device_loop_config *config);
void device_loop_destroy(struct device_loop *loop);

/* Runs until SIGTERM, SIGINT, or the device was idle long enough. */
void device_loop_run(struct device_loop *loop);

#endif
