/* SPDX-License-Identifier: MIT */
/*
 * Requests that came before their listener. Programs agree over another connection that the server
 * is about to listen, and the client's request often overtakes it; hardware is slow enough to hide
 * that. So a request for a port where nobody listens waits a moment before it is refused, and goes
 * to whoever listens there meanwhile. The peer asked us to answer within a time that is longer
 * (IBTA 1.4, 12.7.18), and its repetitions change nothing.
 *
 * All wait equally long, so the oldest is the first to be refused. They are few, since anybody can
 * send them; beyond that, requests are refused at once.
 */
#ifndef DAEMON_CM_EARLY_REQUEST_H
#define DAEMON_CM_EARLY_REQUEST_H

#include "base/list.h"
#include "cm/request.h"

struct early_requests {
	struct early_request *all; /* LIMIT_CM_EARLY_REQUESTS of them */
	struct list waiting;	   /* oldest first */
	struct list unused;
};

/* -ENOMEM. */
int early_requests_init(struct early_requests *requests);
void early_requests_fini(struct early_requests *requests);

/*
 * Keeps a REQ or SIDR_REQ for the listener of that port; one that is kept already is as good. False
 * when it is not to wait: refuse it.
 */
bool early_request_keep(const struct request_origin *origin, const struct rnic_cm_message *message,
			uint16_t port_space, uint16_t port);

/* The peer no longer wants what it asked under that identifier. */
void early_request_forget(const struct request_origin *origin, uint32_t peer_comm_id);

/* When early_requests_tick() is due; UINT64_MAX when never. */
uint64_t early_requests_deadline_ns(const struct cm *cm);

/* Hands over those that have a listener now, and refuses those that have waited long enough. */
void early_requests_tick(struct cm *cm);

#endif
