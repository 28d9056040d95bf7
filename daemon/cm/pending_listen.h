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
#ifndef DAEMON_CM_PENDING_LISTEN_H
#define DAEMON_CM_PENDING_LISTEN_H

#include "base/list.h"
#include "cm/request.h"

struct pending_listens {
	struct pending_listen *all; /* LIMIT_CM_PENDING_LISTENS of them */
	struct list waiting;	    /* oldest first */
	struct list unused;
};

/* -ENOMEM. */
int pending_listens_init(struct pending_listens *requests);
void pending_listens_fini(struct pending_listens *requests);

/*
 * Keeps a REQ or SIDR_REQ for the listener of that port; one that is kept already is as good. False
 * when it is not to wait: refuse it.
 */
bool pending_listen_keep(const struct request_origin *origin, const struct rnic_cm_message *message,
			 uint16_t port_space, uint16_t port);

/* The peer no longer wants what it asked under that identifier. */
void pending_listen_forget(const struct request_origin *origin, uint32_t peer_comm_id);

/* When pending_listens_tick() is due; UINT64_MAX when never. */
uint64_t pending_listens_deadline_ns(const struct cm *cm);

/* Hands over those that have a listener now, and refuses those that have waited long enough. */
void pending_listens_tick(struct cm *cm);

#endif
