/* SPDX-License-Identifier: MIT */
/*
 * What the device has for all clients together, and what one client may have. All clients of one
 * user have at most one part in LIMIT_USER_PART of what the device has.
 */
#ifndef DAEMON_COMMON_CLIENT_LIMITS_H
#define DAEMON_COMMON_CLIENT_LIMITS_H

#include "base/maxima.h"

enum {
	LIMIT_USER_PART = 2,
	LIMIT_SESSIONS = 4096,

	/* A connection that has not said HELLO by then is ended: the connection holds one of
	 * LIMIT_SESSIONS. */
	LIMIT_HELLO_MS = 10000,

	LIMIT_QPS = 65536,
	LIMIT_CQS = 65536,
	LIMIT_CQ_ENTRIES = RNIC_CQ_ENTRIES_MAX,
	LIMIT_SRQS = 65536,

	LIMIT_PDS = 65536,
	LIMIT_SESSION_PDS = 4096,
	LIMIT_MRS = 1 << 20,
	LIMIT_SESSION_MRS = 1 << 18,
	LIMIT_MWS = 1 << 20,
	LIMIT_SESSION_MWS = 1 << 18,
	LIMIT_AHS = 1 << 20,
	LIMIT_SESSION_AHS = 65536,
	LIMIT_XRCDS = 4096,
	LIMIT_SESSION_XRCDS = 256,
	LIMIT_SESSION_MCAST_GROUPS = 32, /* of LIMIT_MCAST_GROUPS */

	LIMIT_CHANNELS = 65536,
	LIMIT_SESSION_CHANNELS =
		4096, /* two for each of 1,000 identifiers of librdmacm, and more */
	LIMIT_CM_IDS = 65536,
	LIMIT_SESSION_CM_IDS = RNIC_CM_IDS_MAX,

	/* Files of memory that clients lend. */
	LIMIT_MAPPED_FILES = 32768,
	LIMIT_SESSION_MAPPED_FILES = 4096,
	LIMIT_MAPPED_MIB = 1 << 24,
	LIMIT_SESSION_MAPPED_MIB = 1 << 20,

	/* Ring memory, which costs nothing until it is used. */
	LIMIT_SHARED_MIB = 65536,
	LIMIT_SESSION_SHARED_MIB = 8192,

	/* Mappings that a process may have where the kernel does not tell (vm.max_map_count), and
	 * those of them that are no client's: of libraries, threads and the heap. */
	LIMIT_PROCESS_MAPPINGS = 65530,
	LIMIT_HEAP_MAPPINGS = 4096,
	LIMIT_OWN_MAPPINGS = LIMIT_HEAP_MAPPINGS + 1024,

	/* Descriptors (RLIMIT_NOFILE) that are no client's: of ports, of LIMIT_MCAST_GROUPS, and of
	 * a message that is looked at. */
	LIMIT_OWN_DESCRIPTORS = 448,

	/* Objects of ended clients that a turn frees, as the teardown counts. */
	LIMIT_TURN_TEARDOWN = 1024,
};

#endif
