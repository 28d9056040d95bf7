/* SPDX-License-Identifier: MIT */
/*
 * WQEs that send nothing: binding a memory window and invalidating a key. Such a WQE is executed
 * when everything posted before it is completed, and the WQEs behind it start after that. IBTA 1.4,
 * 10.8.3.3 demands less (a bind overtakes READs that it has no fence against), but with this order
 * a window never changes under a request of its own QP, at the cost of a round trip.
 *
 * The execution happens in engine_packets_read(), when no packet refers to client memory by the old
 * key: once the completion is there, no byte is read through that key.
 */
#ifndef LIB_NIC_ENGINE_REQUESTER_LOCAL_OPERATION_H
#define LIB_NIC_ENGINE_REQUESTER_LOCAL_OPERATION_H

#include <stdbool.h>

struct engine;
struct qp;

/* Whether the oldest WQE of `qp` is a local operation and may be executed now. */
bool local_operation_is_due(const struct qp *qp);

/* Carries out and completes all that is due; a failure brings the QP into ERR (UC: SQE). */
void local_operation_run(struct engine *engine, struct qp *qp);

#endif
