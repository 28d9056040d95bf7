/* SPDX-License-Identifier: MIT */
/*
 * XRC domains (IBTA annex A14): the target QPs and the SRQs that go together. Each request to a
 * target QP names an SRQ, which must be of the QP's domain. The SRQ, not the QP, gives the receive
 * WQEs, their completion queue, and the protection domain for the keys of the request: a target QP
 * has none of these, as it serves several processes.
 *
 * The struct lies in the owner's memory. Invariant: every SRQ of the domain has room for the WQEs
 * that `target_count` QPs may give back.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_XRCD_H
#define LIB_NIC_ENGINE_OBJECTS_XRCD_H

#include "lib/nic/base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct qp;
struct srq;

struct xrcd {
	struct list srqs;    /* struct srq.domain_node */
	struct list targets; /* struct qp.domain_node */
	uint32_t target_count;
	uint32_t srq_count;
	bool is_closed; /* its owners have gone: nobody reaches its target QPs any more */
};

void xrcd_init(struct xrcd *xrcd);

/* No QP and no SRQ is in it (asserted). */
void xrcd_fini(struct xrcd *xrcd);

/* A target QP enters its domain, or leaves it. -ENOMEM; -ENOSPC: beyond LIMIT_XRCD_PAIRS. */
int xrcd_add_target(struct xrcd *xrcd, struct qp *qp);
void xrcd_remove_target(struct xrcd *xrcd, struct qp *qp);

/* An SRQ enters its domain, or leaves it, and makes room for the WQEs of all targets. The same
 * errors. */
int xrcd_add_srq(struct xrcd *xrcd, struct srq *srq);
void xrcd_remove_srq(struct xrcd *xrcd, struct srq *srq);

/* The SRQ with that number, if the SRQ is of this domain and its owner has not gone; else NULL. */
struct srq *xrcd_find_srq(const struct engine *engine, const struct xrcd *xrcd, uint32_t srqn);

#endif
