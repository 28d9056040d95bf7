/* SPDX-License-Identifier: MIT */
/*
 * Queue pairs: attributes, state, and the two roles that share them. The requester (with completer
 * and retry) owns the send side, the responder the receive side; this file owns creation,
 * transitions and the way into error.
 */
#ifndef LIB_NIC_ENGINE_VERBS_QP_H
#define LIB_NIC_ENGINE_VERBS_QP_H

#include "lib/nic/engine/objects/cq.h"
#include "lib/nic/engine/objects/pd.h"
#include "lib/nic/engine/objects/xrcd.h"
#include "lib/nic/engine/qp_state.h"

/* Whether nobody has the QP any more: the QP then neither takes nor sends anything until it is
 * freed. */
static inline bool qp_is_closed(const struct qp *qp)
{
	return qp->pd != NULL ? qp->pd->is_closed : qp->xrcd->is_closed;
}

struct qp_config {
	uint8_t type; /* enum rnic_qp_type */
	bool signal_all;
	struct pd *pd;
	struct cq *send_cq;
	struct cq *recv_cq;
	struct srq *srq;		      /* NULL: receives are posted to the QP itself */
	struct xrcd *xrcd;		      /* of an XRC target; the others are NULL then */
	struct rnic_qp_capacities capacities; /* as granted: within engine_limits.h */
	void *user;
	uint32_t owner_number; /* for the record: record.h */
};

/*
 * Makes a QP in RESET with a random QPN. References PD, CQs, SRQ and domain, as far as its type has
 * them. -EOPNOTSUPP for an unknown type, -EINVAL for capacities beyond engine_limits.h, -ENOMEM,
 * -ENOSPC when all QPs are in use.
 */
int qp_create(struct engine *engine, const struct qp_config *config, struct qp **qp);

/*
 * Whether the peer lacks answers that are to leave before an acknowledgement, and would not get
 * that if the QP went to RESET or were destroyed now. They leave next. In all other cases the QP
 * leaves its acknowledgement behind (parting.h).
 */
bool qp_hasten_answers(struct qp *qp);

/* Frees the QP, without completions for what is still posted. */
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
 * Takes over one validated WQE. The caller has checked send_queue_space(). With RNIC_SEND_INLINE
 * `inline_bytes` is used and must stay in place until the WQE has completed, or the QP went to
 * RESET; without the flag `sges` are used and copied. The path of a datagram's address handle is
 * copied too. In ERR (and SQE) the WQE is flushed at once. The caller hands over a malformed WQE
 * with opcode RNIC_WR_OPCODE_COUNT, which completes with LOC_QP_OP_ERR in its turn.
 */
void qp_post_send(struct qp *qp, const struct send_wqe *wqe, const struct rnic_sge *sges,
		  const uint8_t *inline_bytes);

/* send_queue_space() is 0: the sink's send_space() is called when the next WQE of `qp` retires. */
void qp_await_send_space(struct qp *qp);

/* New receive WQEs are in the client's ring while the QP is in ERR: flushes them. WQEs of an SRQ
 * are for its other QPs. */
void qp_flush_receives(struct qp *qp);

/* "INIT"; "no state" of a number that is none. */
const char *qp_name_of_state(uint32_t state);

/* Writes why qp_modify() said -EINVAL to the same arguments, as a sentence for people. */
void qp_modify_refusal(const struct qp *qp, const struct rnic_qp_attributes *attributes,
		       uint32_t mask, char *text, uint32_t text_bytes);

/* Writes `last_error` as a sentence for people, with the cause as exact as the engine knows; ""
 * when nothing went wrong. */
void qp_last_error_text(const struct qp *qp, char *text, uint32_t text_bytes);

/* Writes what the QP waits for, as a sentence ("" when nothing), for rnicctl. Returns `text`. */
const char *qp_waiting_for(const struct qp *qp, uint64_t now_ns, char *text, uint32_t text_bytes);

#endif
