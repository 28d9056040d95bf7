/* SPDX-License-Identifier: MIT */
/*
 * The kernel's random numbers as a source for the engine and the connection manager. A buffer saves
 * most of the system calls.
 */
#ifndef DAEMON_SHARED_BASE_SYSTEM_RANDOM_H
#define DAEMON_SHARED_BASE_SYSTEM_RANDOM_H

#include "lib/nic/base/random_source.h"

#include <stddef.h>
#include <stdint.h>

/* getrandom(2) gives so many bytes whole: no signal interrupts the call. */
#define SYSTEM_RANDOM_BUFFER_BYTES 256

struct system_random {
	uint8_t buffer[SYSTEM_RANDOM_BUFFER_BYTES];
	size_t available; /* at the end of the buffer */
};

/* Fills the buffer for the first time. A negative errno where the kernel has no random numbers. */
int system_random_init(struct system_random *random);

/* The source of `random`, which must stay in place. The source aborts the program where the kernel
 * stops giving random numbers: a guessable key would open clients' memory. */
struct random_source system_random_source(struct system_random *random);

#endif
