/* SPDX-License-Identifier: MIT */
/*
 * A queue pair's fields, which the parts of the engine share, and what follows from its type.
 * Creation and transitions: qp.h.
 */
#ifndef LIB_NIC_ENGINE_QP_STATE_H
#define LIB_NIC_ENGINE_QP_STATE_H

#include "lib/nic/base/list.h"
#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/objects/mr_refusal.h"
#include "lib/nic/engine/objects/placement_state.h"
#include "lib/nic/engine/objects/recv_queue.h"
#include "lib/nic/engine/objects/send_queue.h"
#include "lib/nic/engine/reliability/reliability_state.h"
#include "lib/nic/engine/requester/requester_state.h"
#include "lib/nic/engine/objects/kept_state.h"
#include "lib/nic/engine/responder/responder_state.h"
#include "lib/nic/engine/verdict.h"
#include "proto/base/verbs_types.h"
#include "proto/wire/opcode.h"

struct cq;
struct pd;
struct peer_window;
struct srq;
struct xrcd;

struct qp_counters {
	uint64_t sent_packets;
	uint64_t received_packets;
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint64_t retransmitted_packets;
	uint64_t timeouts;
	uint64_t rnr_naks_received;
	uint64_t sequence_naks_received;
	uint64_t duplicates_received;
	uint64_t completions;
};

/* Its ring, and the positions that the last entry tells. */
struct qp_record {
	struct record_hold hold;
	uint32_t send_psn;
	uint32_t unacknowledged_psn;
	uint32_t expected_psn;
};

struct qp {
	struct engine *engine;
	struct list ready_node; /* in engine->ready, or unlinked */
	struct list path_node;	/* in path->waiting, UC and UD in pace.waiting, or unlinked */
	struct list built_node; /* in engine->built, or unlinked */
	struct list mcast_members;
	struct list domain_node; /* XRC target: in xrcd->targets */
	struct list windows;	 /* struct mw bound through it */
	uint32_t qpn;
	uint8_t type;  /* enum rnic_qp_type */
	uint8_t state; /* enum rnic_qp_state */
	bool signal_all;
	bool is_established; /* a packet came since RTR: COMM_EST was raised */
	struct pd *pd;	     /* XRC target: NULL */
	struct cq *send_cq;  /* XRC target: NULL */
	struct cq *recv_cq;  /* XRC: NULL */
	struct xrcd *xrcd;   /* XRC target; else NULL */
	struct rnic_qp_capacities capacities;
	struct rnic_qp_attributes attributes;
	uint32_t path_mtu_bytes;
	uint16_t peer_port;    /* the UDP port of its peer's packets: peer_port.h; 0: not known */
	uint16_t refused_port; /* of the packet that VERDICT_BAD_PORT is about */
	uint8_t peer_kind;     /* enum rnic_peer_kind, learned with peer_port */
	struct peer_window *peer_window; /* from RTR on; UD: NULL */

	struct send_queue send_queue;
	struct requester requester;
	struct retry retry;
	struct round_trip round_trip;
	struct kept kept_responses; /* behind one that is missing */
	struct congestion congestion;
	struct delayed_acknowledgement delayed_acknowledgement;
	struct withheld_acknowledgement withheld_acknowledgement;

	struct srq *srq; /* where its receives come from; NULL: from recv_queue */
	struct recv_queue recv_queue;
	struct responder responder;
	struct kept kept;

	struct placement_failures failures;
	enum verdict last_error;   /* why the QP went to ERR, or its last complaint */
	uint64_t trouble_log_told; /* bits of verdicts that the sink has heard of */
	struct mr_refusal refusal; /* of a key, when `last_error` is about one */
	struct qp_counters counters;
	uint64_t last_received_ns; /* when a packet came that the QP took; 0: none did */
	struct qp_record record;
	uint32_t owner_number; /* the owner's, for the record */
	void *user;	       /* the owner's */
};

/* The service on the wire. */
static inline enum rnic_service qp_service(const struct qp *qp)
{
	switch ((enum rnic_qp_type)qp->type) {
	case RNIC_QP_TYPE_UC:
		return RNIC_SERVICE_UC;
	case RNIC_QP_TYPE_UD:
		return RNIC_SERVICE_UD;
	case RNIC_QP_TYPE_XRC_INITIATOR:
	case RNIC_QP_TYPE_XRC_TARGET:
		return RNIC_SERVICE_XRC;
	default:
		return RNIC_SERVICE_RC;
	}
}

/* Packets that `bytes` of payload take on the QP's path: one when there are none. */
static inline uint32_t qp_packets_for(const struct qp *qp, uint32_t bytes)
{
	return bytes == 0 ? 1 : (bytes - 1) / qp->path_mtu_bytes + 1;
}

/* Whether its packets are acknowledged, and sent again when they are not. */
static inline bool qp_is_reliable(const struct qp *qp)
{
	return qp->type != RNIC_QP_TYPE_UC && qp->type != RNIC_QP_TYPE_UD;
}

/* XRC initiators have no receive side, XRC targets no send side. */
static inline bool qp_has_responder(const struct qp *qp)
{
	return qp->type != RNIC_QP_TYPE_XRC_INITIATOR;
}

static inline bool qp_has_requester(const struct qp *qp)
{
	return qp->type != RNIC_QP_TYPE_XRC_TARGET;
}

/* Whether its receives come from an SRQ, its own or that of each message. */
static inline bool qp_shares_receives(const struct qp *qp)
{
	return qp->srq != NULL || qp->type == RNIC_QP_TYPE_XRC_TARGET;
}

/* Whether receives are posted to the QP itself. */
static inline bool qp_has_recv_queue(const struct qp *qp)
{
	return qp_has_responder(qp) && !qp_shares_receives(qp);
}

/* The partition key of its packets. */
static inline uint16_t qp_pkey(const struct qp *qp)
{
	return qp->engine->pkeys[qp->attributes.pkey_index];
}

#endif
