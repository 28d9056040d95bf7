/* SPDX-License-Identifier: MIT */
/* The bounds of what all clients of a device process have together. */
#ifndef DAEMON_DEVICE_DEVICE_LIMITS_H
#define DAEMON_DEVICE_DEVICE_LIMITS_H

enum {
	LIMIT_QPS = 65536,
	LIMIT_CQS = 65536,
	LIMIT_SRQS = 65536,
	LIMIT_PDS = 65536,
	LIMIT_MRS = 1 << 21,
	LIMIT_MWS = 1 << 20,
	LIMIT_AHS = 1 << 20,
	LIMIT_XRCDS = 4096,
	LIMIT_CHANNELS = 65536,

	/* Memory files that clients share with the device process. */
	LIMIT_MAPPED_FILES = 32768,
	LIMIT_MAPPED_MIB = 1 << 24,

	/* Ring memory, where START names no lower bound. */
	LIMIT_SHARED_MIB = 65536,

	/*
	 * The process's own descriptors (RLIMIT_NOFILE): the lane's sockets at all addresses,
	 * LIMIT_MCAST_GROUPS, and the message under inspection.
	 */
	LIMIT_OWN_DESCRIPTORS = 448,
};

#endif
