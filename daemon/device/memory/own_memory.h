/* SPDX-License-Identifier: MIT */
/*
 * Client memory where the client is this process: copies through the guard of the process, which
 * end with -EFAULT where the program has unmapped or protected what it registered (guard.h).
 * Atomics are the processor's own.
 *
 * While code that the guard cannot see holds the signals, the accesses go the way of
 * remote_memory.h, by system calls.
 */
#ifndef DAEMON_DEVICE_MEMORY_OWN_MEMORY_H
#define DAEMON_DEVICE_MEMORY_OWN_MEMORY_H

#include "daemon/device/memory/remote_memory.h"

struct rnic_guard;

/*
 * Makes `region`, which remote_region_init() or remote_region_init_on_demand() has made and whose
 * process is the calling one, a region that `guard` reaches. The guard outlives the region.
 */
void own_region_init(struct remote_region *region, const struct rnic_guard *guard);

#endif
