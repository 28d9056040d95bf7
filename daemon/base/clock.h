/* SPDX-License-Identifier: MIT */
/*
 * The only reading of a clock in the daemon. Everything else is told the time, so that it can be
 * tested with a time of the test's choosing.
 */
#ifndef DAEMON_BASE_CLOCK_H
#define DAEMON_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t clock_now_ns(void);

#endif
