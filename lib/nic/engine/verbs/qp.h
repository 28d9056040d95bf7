/* SPDX-License-Identifier: MIT */
/*
 * Queue pairs: attributes, state, and the two roles that share them. The requester (with completer
 * and retry) owns the send side, the responder the receive side; this file owns creation,
 * transitions and what leads into error.
 */
#ifndef NIC_ENGINE_VERBS_QP_H
#define NIC_ENGINE_VERBS_QP_H

#include "base/list.h"
#include "engine/reliability/congestion.h"
#include "engine/objects/cq.h"
#include "engine/engine.h"
#include "engine/reliability/peer_window.h"
#include "engine/objects/pd.h"
#include "engine/objects/recv_queue.h"
#include "engine/requester/requester.h"
#include "engine/responder/responder.h"
#include "engine/reliability/retry.h"
#include "engine/objects/send_queue.h"
#include "engine/objects/xrcd.h"

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
	struct peer_window *peer_window; /* from RTR on; UD: NULL */

	struct send_queue send_queue;
	struct requester requester;
	struct retry retry;
	struct congestion congestion;

	struct srq *srq; /* where its receives come from; NULL: from recv_queue */
	struct recv_queue recv_queue;
	struct responder responder;

	struct placement_failures failures;
	enum verdict last_error;   /* why it went to ERR, or what it last complained of */
	uint64_t trouble_log_told; /* bits of verdicts that the sink has heard of */
	struct mr_refusal refusal; /* of a key, when `last_error` is about one */
	struct qp_counters counters;
	uint64_t last_received_ns; /* when a packet came that the QP took; 0: none did */
	void *user;		   /* the owner's */
};

struct qp_config {
	uint8_t type; /* enum rnic_qp_type */
	bool signal_all;
	struct pd *pd;
	struct cq *send_cq;
	struct cq *recv_cq;
	struct srq *srq;		      /* NULL: receives are posted to the QP itself */
	struct xrcd *xrcd;		      /* of an XRC target; the others are NULL then */
	struct rnic_qp_capacities capacities; /* as granted: within limits.h */
	void *user;
};

/*
 * Makes a QP in RESET with a random QPN. References PD, CQs, SRQ and domain, as far as its type has
 * them. -EOPNOTSUPP for an unknown type, -EINVAL for capacities beyond limits.h, -ENOMEM, -ENOSPC
 * when all QPs are in use.
 */
int qp_create(struct engine *engine, const struct qp_config *config, struct qp **qp);

/* Frees it, without completions for what is still posted. */
void qp_destroy(struct qp *qp);

/*
 * Changes state and attributes as IBTA 1.4, 11.2.5.2 says, by the table in qp_transition.h. -EINVAL
 * for a transition or an attribute that is not allowed, or a value out of range; -ENOMEM. Nothing
 * is changed then.
 */
int qp_modify(struct qp *qp, const struct rnic_qp_attributes *attributes, uint32_t mask);

/* Attributes as they are now, PSNs included. */
void qp_query(const struct qp *qp, struct rnic_qp_attributes *attributes);

/*
 * Takes over one validated work entry. The caller has checked send_queue_space(). `inline_bytes` is
 * used with RNIC_SEND_INLINE and stays where it is until the entry has completed, or the QP went to
 * RESET; `sges` are used without, and copied, as is the path of a datagram's address handle. In
 * ERR (and SQE) it is flushed at once. An entry found malformed is handed over with opcode
 * RNIC_WR_OPCODE_COUNT, and completes with LOC_QP_OP_ERR in its turn.
 */
void qp_post_send(struct qp *qp, const struct send_wqe *wqe, const struct rnic_sge *sges,
		  const uint8_t *inline_bytes);

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

/* Whether nobody has it any more, so that it neither takes nor sends anything until it is freed. */
static inline bool qp_is_closed(const struct qp *qp)
{
	return qp->pd != NULL ? qp->pd->is_closed : qp->xrcd->is_closed;
}

/* Whether receives are posted to the QP itself. */
static inline bool qp_has_recv_queue(const struct qp *qp)
{
	return qp_has_responder(qp) && !qp_shares_receives(qp);
}

/* New receive entries are in the client's ring while the QP is in ERR: flush them. Those of an SRQ
 * are for its other QPs. */
void qp_flush_receives(struct qp *qp);

/* The first attribute in `mask` (a bit of it) whose value is never legal; 0 when there is none. */
uint32_t qp_out_of_range(const struct rnic_qp_attributes *attributes, uint32_t mask);

/* `verdict` is the last error from now on; the sink hears of each once until the QP's RESET. */
void qp_note_trouble(struct qp *qp, enum verdict verdict);

/*
 * Into ERR for `verdict`: flushes both queues, the send queue first. What the responder still has
 * to say (a fatal NAK) is sent. With an SRQ the event LAST_WQE_REACHED follows the last receive
 * (IBTA 1.4, 11.6.3.2). The caller raises the asynchronous event of `verdict`, if any. Does nothing
 * in ERR and RESET.
 */
void qp_enter_error(struct qp *qp, enum verdict verdict);

/*
 * A send of a UC or UD QP failed for `verdict`: into SQE, where receives go on and sends are
 * flushed until the QP is modified to RTS (IBTA 1.4, 10.3.1.6).
 */
void qp_enter_send_error(struct qp *qp, enum verdict verdict);

/* SQD: tells that all started entries are completed, when they are. */
void qp_check_drained(struct qp *qp);

/* Puts it at the end of the ready list unless it is there. */
void qp_make_ready(struct qp *qp);

/* Writes why qp_modify() said -EINVAL to the same arguments, as a sentence for people. */
void qp_modify_refusal(const struct qp *qp, const struct rnic_qp_attributes *attributes,
		       uint32_t mask, char *text, uint32_t text_bytes);

/* Writes `last_error` as a sentence for people, with the cause as exact as it is known; "" when
 * nothing went wrong. */
void qp_last_error_text(const struct qp *qp, char *text, uint32_t text_bytes);

/* Writes what the QP waits for, as a sentence ("" when nothing), for rnicctl. Returns `text`. */
const char *qp_waiting_for(const struct qp *qp, uint64_t now_ns, char *text, uint32_t text_bytes);

#endif
