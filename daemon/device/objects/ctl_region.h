/* SPDX-License-Identifier: MIT */
/* Regions of queues, as the requests that create and resize queues make them. */
#ifndef DAEMON_DEVICE_OBJECTS_CTL_REGION_H
#define DAEMON_DEVICE_OBJECTS_CTL_REGION_H

#include "device/session/shared_region.h"

struct ctl_call;

/*
 * Makes a region for the client, charged to it, whose descriptor becomes the reply's first; the
 * caller counts it once all else has succeeded. Returns the status of the refusal, which is noted.
 */
int ctl_region_open(struct ctl_call *call, struct shared_region *region, enum rnic_region_kind kind,
		    uint64_t bytes);

/* Undoes that while the reply was not sent. */
void ctl_region_close(struct ctl_call *call, struct shared_region *region);

#endif
