/* SPDX-License-Identifier: MIT */
/* What requests about objects may take. */
#ifndef DAEMON_DEVICE_OBJECTS_OBJECT_LIMITS_H
#define DAEMON_DEVICE_OBJECTS_OBJECT_LIMITS_H

enum {
	/* Completions that move to the new ring of a CQ that is resized: 4 MiB, and milliseconds.
	 */
	LIMIT_RESIZE_CQ_ENTRIES = 65536,

	/* Datagrams taken over before an address handle goes that they may name; and how many in a
	 * turn, of which a queue pair that is looked at counts as one. */
	LIMIT_DESTROY_AH_ENTRIES = 65536,
	LIMIT_TURN_DESTROY_AH_ENTRIES = 1024,
};

#endif
