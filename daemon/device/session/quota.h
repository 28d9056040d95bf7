/* SPDX-License-Identifier: MIT */
/*
 * What there is of everything that clients can create, and how much of it a client and all clients
 * of a user may have: the bounds of limits.h, and of the descriptors and mappings that the kernel
 * lets this process have as many as it can spare. Every creation is charged here.
 *
 * Invariant: what a session, its user and the set are charged with is what their tables hold.
 */
#ifndef DAEMON_DEVICE_SESSION_QUOTA_H
#define DAEMON_DEVICE_SESSION_QUOTA_H

#include <stdint.h>

struct session;

enum session_resource {
	RESOURCE_PD,
	RESOURCE_MR,
	RESOURCE_MW,
	RESOURCE_CHANNEL,
	RESOURCE_CQ,
	RESOURCE_QP,
	RESOURCE_AH,
	RESOURCE_SRQ,
	RESOURCE_XRCD,
	RESOURCE_CM_CHANNEL,
	RESOURCE_CM_ID,
	RESOURCE_SHARED_BYTES, /* of shared regions */
	RESOURCE_MAPPED_FILES, /* mappings of the clients' memfds */
	RESOURCE_MAPPED_BYTES,
	RESOURCE_MAPPINGS,    /* of memfds and shared regions, in our address space */
	RESOURCE_DESCRIPTORS, /* that we keep open */
	RESOURCE_COUNT,
};

/* Stores at `limits` what there is of each resource for all clients of a device. */
void quota_init(uint64_t limits[RESOURCE_COUNT]);

/*
 * Charges `amount` of `resource` to the client, against what a session and a user may have and what
 * the device has. -ENOSPC when that would be too much; nothing is charged then.
 */
int session_charge(struct session *session, enum session_resource resource, uint64_t amount);
void session_discharge(struct session *session, enum session_resource resource, uint64_t amount);

#endif
