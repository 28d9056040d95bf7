/* SPDX-License-Identifier: MIT */
/*
 * Shared receive queues (IBTA 1.4, 10.2.9): receive entries for the messages of several QPs, each
 * taken by the QP whose message comes first.
 *
 * The keys of its entries are checked in its own protection domain. An entry that a QP took and did
 * not complete, because it went to RESET, was destroyed, or dropped a UC message, is put back and
 * comes first again, so that no buffer of the client's is lost.
 *
 * One of an XRC domain (annex A14) is named by each message and not by QPs: see xrcd.h. It has a
 * completion queue of its own.
 *
 * Owned by whoever created it. Invariant: each of its QPs, or target QPs of its domain, may hold
 * one entry, and the queue has room for all of them to come back.
 */
#ifndef NIC_ENGINE_OBJECTS_SRQ_QUEUE_H
#define NIC_ENGINE_OBJECTS_SRQ_QUEUE_H

#include "base/list.h"
#include "engine/objects/recv_queue.h"

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
	uint32_t limit;	 /* armed when not 0: an event tells that fewer entries are posted */
	bool has_failed; /* XRC: its CQ has overflowed, so that nothing completes any more */
	void *user;	 /* the owner's */
};

/* One more QP takes entries from here, or one less. -ENOMEM. */
int srq_attach(struct srq *srq);
void srq_detach(struct srq *srq);

/*
 * Arms the limit: RNIC_EVENT_SRQ_LIMIT_REACHED is raised once, when fewer than `limit` entries are
 * posted, which may be at once; 0 disarms it (IBTA 1.4, 10.2.9.5). -EINVAL: beyond max_wr. The sink
 * has posted().
 */
int srq_set_limit(struct srq *srq, uint32_t limit);

/* Entries that are posted and that no message has taken. The sink has posted(). */
uint32_t srq_waiting(const struct srq *srq);

/* A completion of its entries did not fit. Of XRC the first raises RNIC_EVENT_SRQ_ERR. */
void srq_completion_lost(struct srq *srq);

/*
 * Takes the oldest entry as recv_queue_take() does, and looks whether the limit is reached. False
 * when none is posted.
 */
bool srq_try_take(struct srq *srq, struct recv_wqe *wqe, struct rnic_sge *sges);

#endif
