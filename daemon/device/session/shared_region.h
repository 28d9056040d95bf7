/* SPDX-License-Identifier: MIT */
/*
 * A region shared with a client: a memfd that we create, size, map and seal before anyone else
 * holds it. Its size can never change, so that no access of ours is beyond its end; what can still
 * happen is sigbus_guard.h's. Regions that only we write carry F_SEAL_FUTURE_WRITE: our mapping is
 * older than the seal, a client's is younger.
 */
#ifndef DAEMON_DEVICE_SESSION_SHARED_REGION_H
#define DAEMON_DEVICE_SESSION_SHARED_REGION_H

#include "shm/region.h"

#include <stdint.h>

struct shared_region {
	void *address; /* NULL: not open */
	uint64_t bytes;
};

/*
 * Makes a zeroed region of at least `bytes` (rounded up to pages) with a header of `kind`. Its
 * descriptor, the caller's to pass on and close, is stored at `fd`. Negative errno of the system
 * call that failed: -EMFILE, -ENFILE, -ENOMEM; refuse the request.
 */
int shared_region_create(struct shared_region *region, enum rnic_region_kind kind, uint64_t bytes,
			 int *fd);

/* Unmaps it. Nothing happens when it is not open. */
void shared_region_close(struct shared_region *region);

#endif
