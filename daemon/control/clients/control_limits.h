/* SPDX-License-Identifier: MIT */
/* The bounds of what all clients have in the control plane, and its own need of descriptors, where
 * lane_groups.h and device_view.h do not say it. */
#ifndef DAEMON_CONTROL_CLIENTS_CONTROL_LIMITS_H
#define DAEMON_CONTROL_CLIENTS_CONTROL_LIMITS_H

enum {
	LIMIT_CM_CHANNELS = 65536,
	LIMIT_CM_IDS = 65536,

	LIMIT_GID_DESCRIPTORS = 2, /* of lane 0 at an address */

	/* A longer call is a client's doing: a call on a socket takes microseconds. */
	LIMIT_CALL_NS = 20000000,

	/* For the network's messages, the loop, logs, and what a turn opens and closes. */
	LIMIT_CONTROL_DESCRIPTORS = 64,
};

#endif
