/* SPDX-License-Identifier: MIT */
/*
 * Answers that need no connection: refusals of requests without a connection, and DREPs and REJs of
 * connections that are gone. The manager sends each answer once; a peer that misses the answer asks
 * again. The ring has a fixed length, since anybody can make us answer.
 */
#ifndef DAEMON_CONTROL_CM_REPLY_H
#define DAEMON_CONTROL_CM_REPLY_H

#include "proto/base/verbs_types.h"
#include "proto/mad/cm_message.h"

#include <stdbool.h>

struct reply {
	struct rnic_gid source; /* our address */
	struct rnic_gid dest;
	struct rnic_cm_message message;
};

struct reply_ring {
	struct reply *replies;
	uint32_t first;
	uint32_t count;
};

/* -ENOMEM. */
int reply_ring_init(struct reply_ring *ring);
void reply_ring_fini(struct reply_ring *ring);

/* Room for one more answer from `source` to `dest`, zeroed; NULL when the ring is full. */
struct rnic_cm_message *reply_add(struct reply_ring *ring, const struct rnic_gid *source,
				  const struct rnic_gid *dest);

/* Takes the oldest answer; valid until the next reply_add(). NULL when there is none. */
const struct reply *reply_take(struct reply_ring *ring);

#endif
