/* SPDX-License-Identifier: MIT */
/* Yields of threads that poll. */
#ifndef LIB_WAIT_YIELD_H
#define LIB_WAIT_YIELD_H

#include "lib/wait/yield_backoff.h"

/* Yields the processor, and notes in `backoff` how long that took. Call it without a lock. */
void yield_and_note(struct rnic_yield_backoff *backoff);

#endif
