/* SPDX-License-Identifier: MIT */
/*
 * Shared receive queues (IBTA 1.4, 10.2.9): receive WQEs for the messages of several QPs. The QP
 * whose message comes first takes the oldest WQE.
 *
 * The keys of the WQEs are checked in the SRQ's own protection domain. A QP may take a WQE and not
 * complete it: the QP goes to RESET, is destroyed, or drops a UC message. Such a WQE is put back
 * and comes first again, so that the client loses no buffer.
 *
 * Each message names the SRQ of an XRC domain (annex A14), not the QP: see xrcd.h. Such an SRQ has
 * a completion queue of its own.
 *
 * The creator owns the SRQ. Invariant: each QP of the SRQ, or target QP of its domain, may hold one
 * WQE, and the queue has room for all of them to come back.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_SRQ_QUEUE_H
#define LIB_NIC_ENGINE_OBJECTS_SRQ_QUEUE_H

#include "lib/nic/base/list.h"
#include "lib/nic/engine/objects/recv_queue.h"

#include <stdbool.h>
#include <stdint.h>

struct cq;
struct engine;
struct pd;
struct xrcd;

struct srq {
	struct engine *engine;
	struct pd *pd;
	struct recv_queue queue;
	uint32_t number;	 /* 24 bits */
	struct xrcd *xrcd;	 /* NULL: of no domain */
	struct cq *cq;		 /* XRC: where its entries complete */
	struct list domain_node; /* XRC: in xrcd->srqs */
	uint32_t references;	 /* QPs that name it: none of an XRC one */
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;	 /* armed when not 0: an event tells that fewer WQEs are posted */
	bool has_failed; /* XRC: its CQ has overflowed, so that nothing completes any more */
	void *user;	 /* the owner's */
};

/* One more QP takes WQEs from here, or one less. -ENOMEM. */
int srq_attach(struct srq *srq);
void srq_detach(struct srq *srq);

/*
 * Arms the limit: RNIC_EVENT_SRQ_LIMIT_REACHED is raised once, when fewer than `limit` WQEs are
 * posted, which may be at once; 0 disarms it (IBTA 1.4, 10.2.9.5). -EINVAL: beyond max_wr. The sink
 * has posted().
 */
int srq_set_limit(struct srq *srq, uint32_t limit);

/* WQEs that are posted and that no message has taken. The sink has posted(). */
uint32_t srq_waiting(const struct srq *srq);

/* A completion of the SRQ's WQEs did not fit into the CQ. With XRC the first one raises
 * RNIC_EVENT_SRQ_ERR. */
void srq_completion_lost(struct srq *srq);

/*
 * Takes the oldest WQE as recv_queue_take() does, and checks the limit. False when no WQE is
 * posted.
 */
bool srq_try_take(struct srq *srq, struct recv_wqe *wqe, struct rnic_sge *sges);

#endif
