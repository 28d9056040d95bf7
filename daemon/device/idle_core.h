/* SPDX-License-Identifier: MIT */
/*
 * Whether the machine has a core for a thread that polls. Polling on a core that somebody else
 * needs makes everything slower by orders of magnitude, since whoever is waited for cannot run.
 */
#ifndef DAEMON_DEVICE_IDLE_CORE_H
#define DAEMON_DEVICE_IDLE_CORE_H

#include <stdbool.h>
#include <stdint.h>

struct idle_core {
	int loadavg_fd; /* /proc/loadavg; -1 when there is none */
	uint32_t cores; /* that we may run on */
	bool is_there;
	uint64_t look_again_ns;
};

void idle_core_open(struct idle_core *idle);
void idle_core_close(struct idle_core *idle);

/* Looks again when the last look was a millisecond ago. False where it cannot be known. */
bool idle_core_is_there(struct idle_core *idle, uint64_t now_ns);

/* The number of runnable threads in `text`, the content of /proc/loadavg; 0 when it has none. */
uint32_t idle_core_running(const char *text);

#endif
