/* SPDX-License-Identifier: MIT */
/* Maps the regions that the daemon shares with this process. */
#ifndef LIB_CLIENT_NATIVE_QUEUES_REGION_MAP_H
#define LIB_CLIENT_NATIVE_QUEUES_REGION_MAP_H

#include "proto/shm/region.h"

#include <stdint.h>

/*
 * Maps a region that the daemon made, and checks that it has at least `bytes` bytes, and that its
 * header, if the kind has one, says so and names the kind. The descriptor stays the caller's.
 * -EIO: it is another region, or one of another version.
 */
int rnic_region_map(int fd, enum rnic_region_kind kind, uint64_t bytes, void **region);
void rnic_region_unmap(const void *region, uint64_t bytes);

#endif
