/* SPDX-License-Identifier: MIT */
/* What follows from a request that cannot be executed. */
#ifndef LIB_NIC_ENGINE_RESPONDER_RESPONDER_FAIL_H
#define LIB_NIC_ENGINE_RESPONDER_RESPONDER_FAIL_H

#include "lib/nic/engine/verdict.h"
#include "proto/wire/psn.h"

#include <stdbool.h>

struct engine;
struct qp;
struct request;

/* What follows from `verdict` on a request: a NAK and the QP's error, or the message's end. */
void responder_refuse(struct request *request, enum verdict verdict);

/*
 * The verdict on a request whose memory could not be reached: -EFAULT where the client has unmapped
 * it, -ESRCH where the client has ended. What hardware does then depends on whether memory or queue
 * pairs go first, and a receive WQE without memory is an error of its own.
 */
enum verdict responder_memory_verdict(const struct engine *engine, const struct qp *qp, int error,
				      bool is_of_receive);

/*
 * Ends the message and, but for a dropped UC or UD message, the connection over the packet `psn`:
 * the answers to what came before it still leave, then the NAK, if the verdict has one, then
 * nothing (IBTA 1.4, 9.9.3). The receive WQE under way fails with the message or, unless
 * `is_receive_at_fault`, is flushed.
 */
void responder_fail(struct engine *engine, struct qp *qp, enum verdict verdict, struct rnic_psn psn,
		    bool is_receive_at_fault);

/*
 * UC and UD: forgets the message under way. The next message uses its receive WQE, or the WQE goes
 * back to its SRQ, where other QPs wait for it.
 */
void responder_drop_message(struct engine *engine, struct qp *qp);

#endif
