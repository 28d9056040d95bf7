/* SPDX-License-Identifier: MIT */
/*
 * Requests from strangers: from a REQ or SIDR_REQ to a connection that somebody holds, or to a
 * refusal; and answers to whoever speaks of connections that are not there.
 */
#ifndef DAEMON_CM_REQUEST_H
#define DAEMON_CM_REQUEST_H

#include "base/verbs_types.h"
#include "mad/cm_message.h"

struct cm;

/* Between whom a message travelled, by its IP header. */
struct request_origin {
	struct cm *cm;
	struct rnic_gid peer;
	struct rnic_gid local;
};

/* A REQ that belongs to no connection yet. */
void request_receive(const struct request_origin *origin, const struct rnic_cm_message *message);

/* A SIDR_REQ that was not seen before. */
void request_receive_datagram(const struct request_origin *origin,
			      const struct rnic_cm_message *message);

/* When request_pending_tick() is due; UINT64_MAX when never. */
uint64_t request_pending_deadline_ns(const struct cm *cm);

/* Hands over waiting requests that have a listener now; refuses those that waited long enough. */
void request_pending_tick(struct cm *cm);

/* A message about a connection that there is not. Says so to whom it helps, and counts it. */
void request_answer_unknown(const struct request_origin *origin,
			    const struct rnic_cm_message *message);

#endif
