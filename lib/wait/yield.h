/* SPDX-License-Identifier: MIT */
/* Yields of threads that stay awake. */
#ifndef LIB_WAIT_YIELD_H
#define LIB_WAIT_YIELD_H

#include "lib/wait/awake.h"

/*
 * Yields the processor, notes in `awake` how long that took, and returns the time. `began_ns` is
 * the time just before. Call the function without a lock.
 */
uint64_t yield_and_note(struct awake *awake, uint64_t began_ns);

#endif
