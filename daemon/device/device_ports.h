/* SPDX-License-Identifier: MIT */
/* Builds the stack of ports that device_state.h draws. */
#ifndef DAEMON_DEVICE_DEVICE_PORTS_H
#define DAEMON_DEVICE_DEVICE_PORTS_H

#include <stdint.h>

struct device_half;
struct device_half_config;

/*
 * Returns a negative errno with a sentence in `reason`, of DEVICE_REASON_BYTES; nothing is open
 * then.
 */
int device_ports_open(struct device_half *half, const struct device_half_config *config,
		      uint64_t now_ns, char *reason);
void device_ports_close(struct device_half *half);

#endif
