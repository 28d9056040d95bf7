/* SPDX-License-Identifier: MIT */
/*
 * Work entries that send nothing: binding a memory window and invalidating a key. Such an entry is
 * carried out when everything posted before it is completed, and what follows it starts after that.
 * IBTA 1.4, 10.8.3.3 demands less (a bind overtakes READs that it has no fence against), but so a
 * window never changes under a request of its own QP, at the cost of a round trip.
 *
 * It happens in engine_packets_read(), when no packet refers to client memory by what it was: once
 * the completion is there, no byte is read through the key before.
 */
#ifndef NIC_ENGINE_REQUESTER_LOCAL_OPERATION_H
#define NIC_ENGINE_REQUESTER_LOCAL_OPERATION_H

#include <stdbool.h>

struct engine;
struct qp;

/* Whether the oldest entry of `qp` is such a one and may be carried out now. */
bool local_operation_is_due(const struct qp *qp);

/* Carries out and completes all that is due; a failure brings the QP into ERR (UC: SQE). */
void local_operation_run(struct engine *engine, struct qp *qp);

#endif
