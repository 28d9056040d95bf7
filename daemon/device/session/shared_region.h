/* SPDX-License-Identifier: MIT */
/*
 * A region shared with a client: a memfd that the daemon creates, sizes, maps and seals before any
 * other process holds it. Its size can never change, so that no access of the daemon is beyond its
 * end; sigbus_guard.h handles a missing page. Regions that only the daemon writes carry
 * F_SEAL_FUTURE_WRITE: the daemon's mapping is older than the seal, a client's mapping is younger.
 */
#ifndef DAEMON_DEVICE_SESSION_SHARED_REGION_H
#define DAEMON_DEVICE_SESSION_SHARED_REGION_H

#include "proto/shm/region.h"

#include <stdint.h>

struct shared_region {
	void *address; /* NULL: not open */
	uint64_t bytes;
};

/*
 * Makes a zeroed region of at least `bytes` (rounded up to pages), with a header if its kind has
 * one. Stores the region's descriptor at `fd`; the caller passes it on and closes it. Negative
 * errno of the failed system call: -EMFILE, -ENFILE, -ENOMEM; the caller refuses the request.
 */
int shared_region_create(struct shared_region *region, enum rnic_region_kind kind, uint64_t bytes,
			 int *fd);

/* Unmaps the region. Does nothing when the region is not open. */
void shared_region_close(struct shared_region *region);

#endif
