/* SPDX-License-Identifier: MIT */
/*
 * Requests from strangers. A REQ or SIDR_REQ becomes a connection with a holder, or is refused.
 * This file also answers messages about connections that do not exist.
 */
#ifndef DAEMON_CONTROL_CM_REQUEST_H
#define DAEMON_CONTROL_CM_REQUEST_H

#include "proto/base/verbs_types.h"
#include "proto/mad/cm_message.h"

struct cm;

/* The two ends of a message, from its IP and UDP headers. */
struct request_origin {
	struct cm *cm;
	struct rnic_gid peer;
	struct rnic_gid local;
	uint16_t port; /* the UDP source port */
};

/* Handles a REQ that belongs to no connection yet. */
void request_receive(const struct request_origin *origin, const struct rnic_cm_message *message);

/* Handles a SIDR_REQ that was not seen before. */
void request_receive_datagram(const struct request_origin *origin,
			      const struct rnic_cm_message *message);

/* When request_pending_tick() is due; UINT64_MAX when never. */
uint64_t request_pending_deadline_ns(const struct cm *cm);

/*
 * Hands over waiting requests that have a listener now; refuses those that have waited long enough.
 */
void request_pending_tick(struct cm *cm);

/*
 * Counts a message about a connection that does not exist, and answers it where an answer helps the
 * peer.
 */
void request_answer_unknown(const struct request_origin *origin,
			    const struct rnic_cm_message *message);

#endif
