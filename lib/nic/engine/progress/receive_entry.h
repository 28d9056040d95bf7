/* SPDX-License-Identifier: MIT */
/*
 * The receive entry of the message under way: taken once, and completed once or given back to the
 * SRQ that it came from.
 */
#ifndef NIC_ENGINE_PROGRESS_RECEIVE_ENTRY_H
#define NIC_ENGINE_PROGRESS_RECEIVE_ENTRY_H

#include "engine/objects/recv_queue.h"
#include "engine/verdict.h"

#include <stdbool.h>

struct cqe;
struct engine;
struct qp;
struct srq;

/*
 * The receive entry that a message for `qp` uses or will use, and its SGEs: one that a dropped UC
 * message has left, or the oldest that is posted to `srq` (NULL: to the QP itself). NULL when there
 * is none.
 */
const struct recv_wqe *receive_entry_peek(struct qp *qp, struct srq *srq,
					  const struct rnic_sge **sges);

/* Takes that entry, to be completed; false when there is none. */
bool receive_entry_try_take(struct qp *qp, struct srq *srq);

/*
 * The message under way ends without a trace: an entry that it took from an SRQ is the SRQ's again,
 * for the next message of any of its QPs.
 */
void receive_entry_give_back(struct qp *qp);

/*
 * Delivers `completion` of the entry under way, with what all have in common filled in; of a
 * datagram source_qpn is given.
 */
void receive_entry_complete(struct engine *engine, struct qp *qp, struct cqe *cqe);

/* Completes the entry under way with the receive status of `verdict`. */
void receive_entry_complete_in_error(struct engine *engine, struct qp *qp, enum verdict verdict);

/* Completes the entry under way and all that are posted to the QP itself with WR_FLUSH_ERR. */
void receive_entry_flush(struct engine *engine, struct qp *qp);

#endif
