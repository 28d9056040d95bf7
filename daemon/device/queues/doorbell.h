/* SPDX-License-Identifier: MIT */
/*
 * Taking a client's doorbells. A doorbell is a hint: it puts a queue on the list of those that
 * WQE fetch looks at, and the queue's producer index says what there is. This file is the only
 * reader of the doorbell ring.
 */
#ifndef DAEMON_DEVICE_QUEUES_DOORBELL_H
#define DAEMON_DEVICE_QUEUES_DOORBELL_H

#include <stdint.h>

struct session;
struct session_set;

/*
 * Takes all doorbells that are in the ring of `session` (at most RNIC_DOORBELL_SLOTS), and looks at
 * all queues when some were lost. Returns how many were taken. A ring that claims more than it
 * holds, or a doorbell for a slot that cannot exist, breaks the session; one for a free slot is
 * ignored, since the queue may have been destroyed after the doorbell was rung.
 */
uint32_t doorbell_take(struct session *session);

/*
 * Takes the doorbells of all sessions that are awake. One that has not rung for
 * LIMIT_DOORBELL_IDLE_NS is asked to wake us, and not looked at until session_wake(). Returns how
 * many were taken.
 */
uint32_t doorbell_take_all(struct session_set *set);

#endif
