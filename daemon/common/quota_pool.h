/* SPDX-License-Identifier: MIT */
/*
 * The bounds and the use of every resource that clients can create, for the process. For
 * descriptors and mappings the bound is the kernel's limit less a reserve for the process. For
 * other resources client_limits.h has the bound.
 */
#ifndef DAEMON_COMMON_QUOTA_POOL_H
#define DAEMON_COMMON_QUOTA_POOL_H

#include "base/list.h"

#include <stdint.h>

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
	struct list users;		 /* struct user_quota.node */
};

/* A pool of all resources that the process can spare, without users. */
void quota_pool_init(struct quota_pool *pool);

/* Asserts that nothing is in use and that no user is left. */
void quota_pool_fini(const struct quota_pool *pool);

#endif
