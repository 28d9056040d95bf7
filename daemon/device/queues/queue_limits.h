/* SPDX-License-Identifier: MIT */
/* How much work a turn does for clients' queues, and how long queues and clients wait. */
#ifndef DAEMON_DEVICE_QUEUES_QUEUE_LIMITS_H
#define DAEMON_DEVICE_QUEUES_QUEUE_LIMITS_H

enum {
	LIMIT_TURN_QUEUES = 256,       /* send queues visited in a turn */
	LIMIT_TURN_QUEUE_ENTRIES = 64, /* send WQEs taken from each in a turn */
	LIMIT_TURN_LOST_SLOTS = 256,   /* of a client's QPs, looked at when doorbells were lost */
	LIMIT_TURN_FLUSHES = 16384,    /* receive WQEs flushed in a turn, for all clients */

	/* After this time without a doorbell the turns skip a client: its next doorbell wakes the
	 * daemon. */
	LIMIT_DOORBELL_IDLE_NS = 10000000,

	/*
	 * An empty CQ goes back to slot 0 only after its first slots, which lie on one page. From
	 * there on the daemon looks at each multiple of the second number whether the CQ is empty.
	 */
	LIMIT_CQ_FIRST_SLOTS = 96,
	LIMIT_CQ_LOOK_SLOTS = 16,

	/* How long a busy loop lets completions wait for a client that sleeps in a poll: a wake-up
	 * for each completion would take the time that the traffic needs. */
	LIMIT_POLL_WAKE_NS = 100000,
};

#endif
