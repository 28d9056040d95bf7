/* SPDX-License-Identifier: MIT */
/*
 * The only reading of a clock in the daemon and in librnic, and the yields of threads that stay
 * awake. All other code gets the time from its caller, so that a test can choose the time.
 */
#ifndef LIB_WAIT_CLOCK_H
#define LIB_WAIT_CLOCK_H

#include "lib/wait/awake.h"

#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t clock_now_ns(void);

/* Nanoseconds of CLOCK_REALTIME, which stamps of the kernel have. Somebody may set this clock. */
uint64_t clock_wall_ns(void);

/* Nanoseconds that the calling thread has had a processor, in the kernel included. */
uint64_t clock_thread_ns(void);

/*
 * Yields the processor, notes in `awake` how long that took, and returns the time. `began_ns` is
 * the time just before. Call the function without a lock.
 */
uint64_t yield_and_note(struct awake *awake, uint64_t began_ns);

#endif
