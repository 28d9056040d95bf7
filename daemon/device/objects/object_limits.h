/* SPDX-License-Identifier: MIT */
/* How much one request about objects may take. */
#ifndef DAEMON_DEVICE_OBJECTS_OBJECT_LIMITS_H
#define DAEMON_DEVICE_OBJECTS_OBJECT_LIMITS_H

enum {
	/* CQEs that a resize moves to the new ring of a CQ: 4 MiB, which take milliseconds. */
	LIMIT_RESIZE_CQ_ENTRIES = 65536,

	/* Datagrams that DESTROY_AH takes from the rings before it frees a handle that they may
	 * name, altogether and in one turn. A visited queue pair counts as one datagram. */
	LIMIT_DESTROY_AH_ENTRIES = 65536,
	LIMIT_TURN_DESTROY_AH_ENTRIES = 1024,
};

#endif
