/* SPDX-License-Identifier: MIT */
/*
 * The bounds and the use of every resource that clients can create, for the process. For
 * descriptors and mappings the bound is the kernel's limit less what the process needs itself. The
 * program that has the pool chooses the other bounds: device_limits.h, client_set.c.
 */
#ifndef DAEMON_SHARED_QUOTA_QUOTA_POOL_H
#define DAEMON_SHARED_QUOTA_QUOTA_POOL_H

#include "daemon/shared/base/deferred_close.h"

#include <stdbool.h>
#include <stdint.h>

enum session_resource {
	RESOURCE_SESSION, /* a client */
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
	RESOURCE_CM_PORT_IPOIB, /* ephemeral ports of the connection manager, by port space */
	RESOURCE_CM_PORT_TCP,
	RESOURCE_CM_PORT_UDP,
	RESOURCE_CM_PORT_IB,
	RESOURCE_SHARED_BYTES, /* in shared regions */
	RESOURCE_MAPPED_FILES, /* mappings of the clients' memfds */
	RESOURCE_MAPPED_BYTES,
	RESOURCE_MAPPINGS,    /* of memfds and shared regions, in our address space */
	RESOURCE_DESCRIPTORS, /* that the daemon keeps open */
	RESOURCE_COUNT,
};

struct quota_pool {
	uint64_t usage[RESOURCE_COUNT];
	uint64_t limits[RESOURCE_COUNT]; /* of `usage` */
	/* Closes and unmaps what clients sent or shared. Until then it counts as in use. */
	struct deferred_close deferred_close;
};

/*
 * A pool without users. A process has one. `limits` are the bounds of what the process chooses
 * itself (0: the process has none of it); `own_descriptors` is what it needs of RLIMIT_NOFILE.
 */
void quota_pool_init(struct quota_pool *pool, const uint64_t limits[RESOURCE_COUNT],
		     uint64_t own_descriptors);

/* Asserts that nothing is in use. */
void quota_pool_fini(struct quota_pool *pool);

/* Whether the resource counts until a thread has closed it: descriptors and mappings. */
bool quota_pool_is_closed_later(enum session_resource resource);

/* How much is left of a resource. */
uint64_t quota_pool_left(const struct quota_pool *pool, enum session_resource resource);

#endif
