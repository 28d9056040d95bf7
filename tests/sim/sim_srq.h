/* SPDX-License-Identifier: MIT */
/*
 * A host's SRQs, one of them of XRC. Their receives become part of a QP's model when that QP
 * completes one, each at most once; the contents of a returned receive are not checked.
 */
#ifndef TESTS_SIM_SIM_SRQ_H
#define TESTS_SIM_SIM_SRQ_H

#include "tests/sim/sim_host.h"

/* Of a new engine, and before it ends. -ENOMEM. */
int sim_srq_start(struct sim_host *host);
void sim_srq_stop(struct sim_host *host);

/* The SRQ whose entries `queue` holds; NULL: it is a QP's own queue. */
struct sim_srq *sim_srq_of(struct sim_host *host, const struct recv_queue *queue);

/* For the sink. `completion` becomes one of a receive of the QP itself. */
uint32_t sim_srq_refill(struct sim_srq *shared, const struct recv_room *room);
void sim_srq_complete(struct sim_host *host, struct sim_qp *qp, struct cqe *cqe);

/* Receive `number`, whose message the oracle has seen, holds the expected bytes. */
void sim_srq_adopt(struct sim_host *host, const struct sim_srq *shared, uint32_t number);

/* The same for all that never completed. */
void sim_srq_adopt_rest(struct sim_host *host);

#endif
