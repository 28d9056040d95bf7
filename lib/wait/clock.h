/* SPDX-License-Identifier: MIT */
/*
 * The only reading of a clock in the daemon and in librnic. All other code gets the time from its
 * caller, so that a test can choose the time.
 */
#ifndef LIB_WAIT_CLOCK_H
#define LIB_WAIT_CLOCK_H

#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t clock_now_ns(void);

/* Nanoseconds that the calling thread has had a processor, in the kernel included. */
uint64_t clock_thread_ns(void);

#endif
