/* SPDX-License-Identifier: MIT */
/*
 * Client memory where the client is this process: copies through the guard of the process, which
 * end with -EFAULT where the program has unmapped what it registered (guard.h). Atomics are the
 * processor's own.
 *
 * Two kinds of accesses go the way of remote_memory.h, by system calls: to pages that the program
 * has protected since, as a device reaches pinned pages; and all, while code that the guard cannot
 * see holds the signals.
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
