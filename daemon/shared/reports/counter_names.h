/* SPDX-License-Identifier: MIT */
/*
 * The names of the counters of a device process, besides those of its ports
 * (stack_counters.h). The control plane adds up counters by name, and accepts no other name
 * from a device process.
 */
#ifndef DAEMON_SHARED_REPORTS_COUNTER_NAMES_H
#define DAEMON_SHARED_REPORTS_COUNTER_NAMES_H

#include <stdint.h>

/* The name of the counter numbered `index`, in the order of listings; NULL: there are no more. */
const char *device_counter_name(uint32_t index);

#endif
