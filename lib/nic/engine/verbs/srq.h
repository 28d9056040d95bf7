/* SPDX-License-Identifier: MIT */
/* Creation, destruction and size of shared receive queues (srq_queue.h). */
#ifndef LIB_NIC_ENGINE_VERBS_SRQ_H
#define LIB_NIC_ENGINE_VERBS_SRQ_H

#include "lib/nic/engine/objects/srq_queue.h"

#include <stdint.h>

struct cq;
struct engine;
struct xrcd;

struct srq_config {
	struct pd *pd;
	struct xrcd *xrcd; /* NULL: not XRC */
	struct cq *cq;	   /* with xrcd only */
	uint32_t max_wr;   /* 1 .. LIMIT_WR_DEPTH */
	uint32_t max_sge;  /* at most LIMIT_SGES */
	void *user;
};

/*
 * Makes an SRQ with a random number, its limit not armed. References PD, domain and CQ. -EINVAL for
 * sizes beyond engine_limits.h, -ENOMEM, -ENOSPC when all numbers are in use, or by the domain's
 * limit.
 */
int srq_create(struct engine *engine, const struct srq_config *config, struct srq **srq);

/*
 * Frees the SRQ; no QP refers to the SRQ (asserted). Its WQEs are forgotten. A target QP that holds
 * a WQE goes into error, as the rest of the message has nowhere to go.
 */
void srq_destroy(struct srq *srq);

/*
 * The owner's ring holds `max_wr` entries from now on (IBTA 1.4, 11.2.3.3). -EINVAL: none, beyond
 * LIMIT_WR_DEPTH, fewer than the limit, or fewer than before and than wait.
 */
int srq_check_size(const struct srq *srq, uint32_t max_wr, uint32_t limit);
void srq_set_size(struct srq *srq, uint32_t max_wr);

#endif
