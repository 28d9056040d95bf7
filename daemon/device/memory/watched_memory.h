/* SPDX-License-Identifier: MIT */
/*
 * Regions of memory_watch.h: accesses pass the gate, and go to where the program has moved the
 * memory. An access to what the program has unmapped ends with -EFAULT, whatever is mapped there
 * now.
 */
#ifndef DAEMON_DEVICE_MEMORY_WATCHED_MEMORY_H
#define DAEMON_DEVICE_MEMORY_WATCHED_MEMORY_H

#include "daemon/device/memory/remote_memory.h"

/*
 * Watches the memory of a region that remote_region_init() or own_region_init() has made, if that
 * is possible; `region->watch` says so. The region must stay where it is until
 * watched_region_close(). Regions on demand follow what the program maps, and are not watched.
 */
void watched_region_open(struct remote_region *region);
void watched_region_close(struct remote_region *region);

#endif
