/* SPDX-License-Identifier: MIT */
/*
 * Taking a client's doorbells. A doorbell is a hint: it puts a queue on the list of those that
 * intake looks at, and the queue's producer index says what there is. This file is the only reader
 * of the doorbell ring.
 */
#ifndef DAEMON_SESSION_DOORBELL_H
#define DAEMON_SESSION_DOORBELL_H

#include <stdint.h>

struct session;

/*
 * Takes all doorbells that are in the ring of `session` (at most RNIC_DOORBELL_SLOTS), and looks at
 * all queues when some were lost. Returns how many were taken. A ring that claims more than it
 * holds, or a doorbell for a slot that cannot exist, breaks the session; one for a free slot is
 * ignored, since the queue may have been destroyed after the doorbell was rung.
 */
uint32_t doorbell_take(struct session *session);

#endif
