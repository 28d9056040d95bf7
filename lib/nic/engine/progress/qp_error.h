/* SPDX-License-Identifier: MIT */
/* How a QP goes into error: the one way for requester and responder. */
#ifndef LIB_NIC_ENGINE_PROGRESS_QP_ERROR_H
#define LIB_NIC_ENGINE_PROGRESS_QP_ERROR_H

#include "lib/nic/engine/verdict.h"

struct engine;
struct qp;

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
 * The oldest WQE cannot be executed: completes the WQE with the verdict's status; QP to ERR, UC and
 * UD to SQE.
 */
void qp_fail_send(struct engine *engine, struct qp *qp, enum verdict verdict);

#endif
