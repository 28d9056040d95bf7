/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm/reply.h"

#include "daemon/control/cm/cm.h"

#include <errno.h>
#include <stdlib.h>

int reply_ring_init(struct reply_ring *ring)
{
	*ring = (struct reply_ring){0};
	ring->replies = calloc(LIMIT_CM_REPLIES, sizeof(*ring->replies));
	return ring->replies == NULL ? -ENOMEM : 0;
}

void reply_ring_fini(struct reply_ring *ring)
{
	free(ring->replies);
	ring->replies = NULL;
}

struct rnic_cm_message *reply_add(struct reply_ring *ring, const struct rnic_gid *source,
				  const struct rnic_gid *dest)
{
	struct reply *reply;

	if (ring->count == LIMIT_CM_REPLIES)
		return NULL;
	reply = &ring->replies[(ring->first + ring->count++) % LIMIT_CM_REPLIES];
	*reply = (struct reply){.source = *source, .dest = *dest};
	return &reply->message;
}

const struct reply *reply_take(struct reply_ring *ring)
{
	const struct reply *reply = &ring->replies[ring->first];

	if (ring->count == 0)
		return NULL;
	ring->first = (ring->first + 1) % LIMIT_CM_REPLIES;
	ring->count--;
	return reply;
}
