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
#include "base/verbs_types.h"
#include "mad/cm_message.h"

#include <stdbool.h>
#include <stdint.h>

struct pending_listen {
	struct list node;
	struct rnic_gid peer;
	struct rnic_gid local;
	struct rnic_cm_message message; /* a REQ or SIDR_REQ */
	uint32_t peer_comm_id;
	uint64_t refuse_ns;
	uint16_t port_space;
	uint16_t port;
};

struct pending_listens {
	struct pending_listen *all; /* LIMIT_CM_PENDING_LISTENS of them */
	struct list waiting;	    /* oldest first */
	struct list unused;
};

/* -ENOMEM. */
int pending_listens_init(struct pending_listens *requests);
void pending_listens_fini(struct pending_listens *requests);

/* The request that `peer` made under that identifier; NULL: it does not wait. */
struct pending_listen *pending_listen_find(const struct pending_listens *requests,
					   const struct rnic_gid *peer, uint32_t peer_comm_id,
					   enum rnic_cm_kind kind);

/* Keeps a copy of `request`. False: too many wait. */
bool pending_listen_add(struct pending_listens *requests, const struct pending_listen *request);

void pending_listen_remove(struct pending_listens *requests, struct pending_listen *request);

/* NULL: none waits. */
const struct pending_listen *pending_listen_oldest(const struct pending_listens *requests);

#endif
