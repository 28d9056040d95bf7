/* SPDX-License-Identifier: MIT */
/* What one turn does with clients' queues, and how long queues and sleepers wait. */
#ifndef DAEMON_DEVICE_QUEUES_QUEUE_LIMITS_H
#define DAEMON_DEVICE_QUEUES_QUEUE_LIMITS_H

enum {
	LIMIT_TURN_QUEUES = 256,       /* send queues visited */
	LIMIT_TURN_QUEUE_ENTRIES = 64, /* send WQEs taken of each */
	LIMIT_TURN_FLUSHES = 16384,    /* receive WQEs of queue pairs in error, of all clients */

	/* A client that has not rung for so long is no longer looked at in each turn: the client
	 * wakes us when it rings. */
	LIMIT_DOORBELL_IDLE_NS = 10000000,

	/* Clients that are told in a turn that traffic has become bulk, or is no longer. */
	LIMIT_TURN_TOLD = 16,

	/* How long a busy loop lets completions wait for a client that sleeps for them: to wake the
	 * client for each would take the time that the traffic needs. */
	LIMIT_POLL_WAKE_NS = 100000,
};

#endif
