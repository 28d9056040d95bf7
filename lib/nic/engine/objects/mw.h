/* SPDX-License-Identifier: MIT */
/*
 * Memory windows (IBTA 1.4, 10.6.7): a key for part of a region, with rights of its own, that comes
 * and goes in the order of a QP's work. A window of type 1 may be bound anew at any time and is
 * open to all QPs of its PD. A window of type 2B is open to the QP that bound the window, and that
 * QP or its peer must invalidate the window before it is bound again.
 *
 * The caller of mw_alloc() owns struct mw until mw_dealloc().
 *
 * Invariant: a window is bound exactly when bound_to is set; then the window counts in
 * bound_to->bound_windows, and (type 2B) is in the list of range.window_qp. An unbound window
 * grants nothing.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_MW_H
#define LIB_NIC_ENGINE_OBJECTS_MW_H

#include "lib/nic/base/list.h"
#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/verdict.h"
#include "proto/base/verbs_types.h"

#include <stdint.h>

struct engine;
struct qp;
struct send_wqe;

struct mw {
	struct mr range;     /* what the key names: the bound part of the region */
	struct mr *bound_to; /* NULL: it is not bound */
	struct list qp_node; /* in qp->windows, or unlinked */
	uint8_t type;	     /* enum rnic_mw_type */
};

/* Makes `mw` a window of `type` in `pd`, not bound, with a key. -ENOSPC, -ENOMEM. */
int mw_alloc(struct engine *engine, struct mw *mw, struct pd *pd, enum rnic_mw_type type);

/* Unbinds the window and forgets its key. Payload on its way is placed first. */
void mw_dealloc(struct engine *engine, struct mw *mw);

/*
 * Carries out the bind `work` of `qp` (IBTA 1.4, 10.6.7.2.1 and 11.3.3): its rkey, of which the
 * consumer chooses the low 8 bits, names the window and becomes its key. Length 0 unbinds a window
 * of type 1. Accesses through the key before fail from now on. VERDICT_PASS, or
 * VERDICT_BIND_REFUSED and nothing is changed.
 */
enum verdict mw_bind(struct qp *qp, const struct send_wqe *wqe);

/*
 * Whether `qp` or its peer may invalidate `key` (IBTA 1.4, 10.6.7.2.4): only the key of a window of
 * type 2B of the QP's PD, which is bound through `qp` or not bound at all.
 */
bool mw_can_invalidate(const struct qp *qp, uint32_t key);

/* Unbinds the window of `key`, for which mw_can_invalidate() holds (asserted). */
void mw_invalidate(struct qp *qp, uint32_t key);

/* Unbinds all windows that are bound through `qp`, which is to be destroyed. */
void mw_forget_qp(struct qp *qp);

#endif
