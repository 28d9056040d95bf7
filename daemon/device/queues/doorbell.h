/* SPDX-License-Identifier: MIT */
/*
 * Takes a client's doorbells. A doorbell is a hint: it puts a queue on the list that WQE fetch
 * visits, and the queue's producer index tells how many WQEs there are. Only this file reads the
 * doorbell ring.
 */
#ifndef DAEMON_DEVICE_QUEUES_DOORBELL_H
#define DAEMON_DEVICE_QUEUES_DOORBELL_H

#include <stdint.h>

struct session;
struct session_set;

/*
 * Takes all doorbells in the ring of `session` (at most RNIC_DOORBELL_SLOTS), and looks at
 * LIMIT_TURN_LOST_SLOTS queues, in this call and the next ones, when some doorbells were lost.
 * Returns the number of doorbells taken. A ring that claims more doorbells than it holds, or a
 * doorbell for a slot that cannot exist, breaks the session. A doorbell for a free slot is ignored:
 * the client may have destroyed the queue after it rang.
 */
uint32_t doorbell_take(struct session *session);

/*
 * Takes the doorbells of all sessions that are awake. A session that has not rung for
 * LIMIT_DOORBELL_IDLE_NS is asked to wake the daemon; its ring is not visited until session_wake().
 * Returns the number of doorbells taken.
 */
uint32_t doorbell_take_all(struct session_set *set);

#endif
