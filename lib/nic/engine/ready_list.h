/* SPDX-License-Identifier: MIT */
/*
 * The QPs that may have a packet to send, in the order of their service. A QP keeps its place for
 * LIMIT_QP_QUANTUM packets and then goes behind the others.
 */
#ifndef LIB_NIC_ENGINE_READY_LIST_H
#define LIB_NIC_ENGINE_READY_LIST_H

#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/qp_state.h"

/* Puts `qp` at the end of the list unless it is there. */
static inline void ready_list_add(struct qp *qp)
{
	if (!list_is_linked(&qp->ready_node))
		list_add_tail(&qp->engine->ready, &qp->ready_node);
}

/* Takes `qp` out, wherever it is. */
static inline void ready_list_remove(struct qp *qp)
{
	struct engine *engine = qp->engine;

	if (list_is_linked(&qp->ready_node) && engine->ready.next == &qp->ready_node)
		engine->quantum = 0;
	list_remove(&qp->ready_node);
}

/* Puts `qp` at the front, wherever it is. */
static inline void ready_list_add_first(struct qp *qp)
{
	ready_list_remove(qp);
	list_add(&qp->engine->ready, &qp->ready_node);
	qp->engine->quantum = 0;
}

/* The QP whose turn it is, of a list that is not empty. */
static inline struct qp *ready_list_next(struct engine *engine)
{
	struct qp *qp = list_first_entry(&engine->ready, struct qp, ready_node);

	if (engine->quantum < LIMIT_QP_QUANTUM)
		return qp;
	engine->quantum = 0;
	list_remove(&qp->ready_node);
	list_add_tail(&engine->ready, &qp->ready_node);
	return list_first_entry(&engine->ready, struct qp, ready_node);
}

#endif
