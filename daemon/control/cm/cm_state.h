/* SPDX-License-Identifier: MIT */
/*
 * The connection manager's own state, private to this folder. The manager's tables do not know this
 * state. Includes run one way: from cm_dispatch.c over requests, actions and connections to this
 * file, and from this file to the tables and the facade cm.h. Several files implement cm.h.
 */
#ifndef DAEMON_CONTROL_CM_CM_STATE_H
#define DAEMON_CONTROL_CM_CM_STATE_H

#include "daemon/control/cm/binding.h"
#include "daemon/control/cm/cm.h"
#include "daemon/control/cm/peer_table.h"
#include "daemon/control/cm/pending_listen.h"
#include "daemon/control/cm/reply.h"
#include "lib/nic/base/key_table.h"
#include "lib/nic/base/list.h"
#include "lib/nic/base/timer_heap.h"
#include "proto/mad/mad.h"

struct cm {
	struct cm_config config;
	struct key_table by_comm_id;   /* its upper 24 bits -> struct cm_connection */
	struct peer_table by_peer;     /* the peer's address and identifier -> connection */
	struct peer_table by_peer_qpn; /* the peer's address and QPN -> connection */
	struct peer_table shares;      /* the peer's address -> struct peer_share */
	struct list idle_shares;       /* those of addresses without connections, oldest first */
	uint32_t idle_share_count;
	struct timer_heap timers;
	struct list connections; /* all connections, oldest first */
	uint32_t connection_count;
	struct list ready; /* connections with queued messages */
	struct reply_ring replies;
	struct binding_table bindings;
	struct pending_listens pending_listens;
	uint64_t counters[CM_COUNTER_COUNT];
	uint64_t now_ns;	     /* the time of the current call */
	uint32_t psn;		     /* the PSN of the next datagram */
	uint8_t mad[RNIC_MAD_BYTES]; /* the payload of the last datagram */
};

/*
 * Room for a reply from `source` to `dest`, zeroed. NULL: no room; the manager counts the lost
 * reply.
 */
struct rnic_cm_message *cm_add_reply(struct cm *cm, const struct rnic_gid *source,
				     const struct rnic_gid *dest);

#endif
