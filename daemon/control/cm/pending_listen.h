/* SPDX-License-Identifier: MIT */
/*
 * Requests that came before their listener. Programs agree over another connection that the server
 * is about to listen, and the client's request often comes before the listener. Hardware is slow
 * enough to hide that race. So the manager keeps a request for a port without a listener for a
 * moment, and hands the request to a listener that comes meanwhile. The peer allows more time than
 * that for the answer (IBTA 1.4, 12.7.18). Repeated requests change nothing.
 *
 * All requests wait equally long, so the oldest is the first to be refused. Anybody can send
 * requests, so their number is bounded; the manager refuses further requests at once.
 */
#ifndef DAEMON_CONTROL_CM_PENDING_LISTEN_H
#define DAEMON_CONTROL_CM_PENDING_LISTEN_H

#include "lib/nic/base/list.h"
#include "proto/base/verbs_types.h"
#include "proto/mad/cm_message.h"

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
	uint16_t peer_udp_port;
};

struct pending_listens {
	struct pending_listen *all; /* LIMIT_CM_PENDING_LISTENS elements */
	struct list waiting;	    /* oldest first */
	struct list unused;
};

/* -ENOMEM. */
int pending_listens_init(struct pending_listens *requests);
void pending_listens_fini(struct pending_listens *requests);

/* The waiting request of `peer` with that identifier; NULL: none. */
struct pending_listen *pending_listen_find(const struct pending_listens *requests,
					   const struct rnic_gid *peer, uint32_t peer_comm_id,
					   enum rnic_cm_kind kind);

/* Keeps a copy of `request`. False: too many requests wait, of all peers or of this one. */
bool pending_listen_add(struct pending_listens *requests, const struct pending_listen *request);

void pending_listen_remove(struct pending_listens *requests, struct pending_listen *request);

/* NULL: no request waits. */
const struct pending_listen *pending_listen_oldest(const struct pending_listens *requests);

#endif
