/* SPDX-License-Identifier: MIT */
/* Makes the regions of queues for the requests that create and resize queues. */
#ifndef DAEMON_DEVICE_OBJECTS_CTL_REGION_H
#define DAEMON_DEVICE_OBJECTS_CTL_REGION_H

#include "daemon/device/session/shared_region.h"

struct ctl_call;

/*
 * Makes a region for the client and charges the client. The region's descriptor becomes the first
 * descriptor of the reply; the caller counts it once everything else has succeeded. Returns the
 * status of the refusal, after noting the refusal.
 */
int ctl_region_open(struct ctl_call *call, struct shared_region *region, enum rnic_region_kind kind,
		    uint64_t bytes);

/* Undoes ctl_region_open() before the reply is sent. */
void ctl_region_close(struct ctl_call *call, struct shared_region *region);

#endif
