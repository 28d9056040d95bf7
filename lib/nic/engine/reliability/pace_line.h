/* SPDX-License-Identifier: MIT */
/*
 * QPs that find the allowance used up are served in turn: the first QP has the allowance to itself
 * from when half a burst is there until it is used up again, and then goes behind the others.
 * Invariant: while QPs wait, the first is in the ready list or its timer is armed.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_PACE_LINE_H
#define LIB_NIC_ENGINE_RELIABILITY_PACE_LINE_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct qp;

/*
 * `qp` sends `bytes` at engine->now_ns, if it is the QP's turn or no QP waits, and the allowance
 * has the bytes. Else the QP gets in line, and becomes ready when its turn comes.
 */
bool pace_line_try_send(struct engine *engine, struct qp *qp, uint32_t bytes);

/* `qp` has nothing to send now: the QP leaves the line, and passes its turn on. */
void pace_line_leave(struct engine *engine, struct qp *qp);

#endif
