/* SPDX-License-Identifier: MIT */
/*
 * The receive WQE of the message under way: the responder takes the WQE once, and completes it once
 * or gives it back to its SRQ.
 */
#ifndef LIB_NIC_ENGINE_PROGRESS_RECEIVE_WQE_H
#define LIB_NIC_ENGINE_PROGRESS_RECEIVE_WQE_H

#include "lib/nic/engine/objects/recv_queue.h"
#include "lib/nic/engine/verdict.h"

#include <stdbool.h>

struct cqe;
struct engine;
struct qp;
struct srq;

/*
 * The receive WQE that a message for `qp` uses or will use, and its SGEs: the WQE that a dropped UC
 * message has left, or the oldest that is posted to `srq` (NULL: to the QP itself). NULL when no
 * WQE is posted.
 */
const struct recv_wqe *receive_wqe_peek(struct qp *qp, struct srq *srq,
					const struct rnic_sge **sges);

/* Takes that WQE, to be completed; false when no WQE is posted. */
bool receive_wqe_try_take(struct qp *qp, struct srq *srq);

/*
 * The message under way ends without a completion: a WQE that the message took from an SRQ goes
 * back to the SRQ, for the next message of any of its QPs.
 */
void receive_wqe_give_back(struct qp *qp);

/*
 * Delivers `cqe` of the WQE under way, with what all have in common filled in; of a datagram
 * source_qpn is given.
 */
void receive_wqe_complete(struct engine *engine, struct qp *qp, struct cqe *cqe);

/* Completes the WQE under way with the receive status of `verdict`. */
void receive_wqe_complete_in_error(struct engine *engine, struct qp *qp, enum verdict verdict);

/* Flushes the WQE under way and all WQEs that are posted to the QP itself: completes them with
 * WR_FLUSH_ERR. */
void receive_wqe_flush(struct engine *engine, struct qp *qp);

#endif
