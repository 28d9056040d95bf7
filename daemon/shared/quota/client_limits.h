/* SPDX-License-Identifier: MIT */
/*
 * The bounds of one client, and what both programs of the daemon keep for themselves. The bounds of
 * all clients together are the programs': device_limits.h, client_set.c.
 */
#ifndef DAEMON_SHARED_QUOTA_CLIENT_LIMITS_H
#define DAEMON_SHARED_QUOTA_CLIENT_LIMITS_H

#include "proto/base/maxima.h"

enum {
	LIMIT_SESSIONS = 4096, /* clients of a process */

	/*
	 * The time for HELLO. The daemon ends a connection without HELLO: it holds one of
	 * LIMIT_SESSIONS.
	 */
	LIMIT_HELLO_MS = 10000,

	LIMIT_CQ_ENTRIES = RNIC_CQ_ENTRIES_MAX,
	LIMIT_COMPLETION_VECTORS = 8, /* programs spread their completion queues over them */

	LIMIT_SESSION_PDS = 4096,
	LIMIT_SESSION_MRS = 1 << 20,
	LIMIT_SESSION_MWS = 1 << 18,
	LIMIT_SESSION_AHS = 65536,
	LIMIT_SESSION_XRCDS = 256,
	LIMIT_SESSION_MCAST_GROUPS = 32,   /* of LIMIT_MCAST_GROUPS */
	LIMIT_SESSION_MCAST_MEMBERS = 256, /* of LIMIT_MCAST_MEMBERS: queue pairs in one group */
	LIMIT_SESSION_CHANNELS =
		4096, /* two for each of 1,000 identifiers of librdmacm, and more */
	LIMIT_SESSION_CM_IDS = RNIC_CM_IDS_MAX,

	/* Memory files that a client shares with the daemon. */
	LIMIT_SESSION_MAPPED_FILES = 4096,
	LIMIT_SESSION_MAPPED_MIB = 1 << 20,

	/* Ring memory: pages cost nothing until their first use. */
	LIMIT_SESSION_SHARED_MIB = 8192,

	/*
	 * The mappings of a process where the kernel does not state them (vm.max_map_count), and
	 * the daemon's own part of them: libraries, threads and the heap.
	 */
	LIMIT_PROCESS_MAPPINGS = 65530,
	LIMIT_HEAP_MAPPINGS = 4096,
	LIMIT_OWN_MAPPINGS = LIMIT_HEAP_MAPPINGS + 1024,
};

#endif
