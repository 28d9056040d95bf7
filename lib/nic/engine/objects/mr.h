/* SPDX-License-Identifier: MIT */
/*
 * Memory regions: a key, a range of addresses (iova), rights, and the client memory behind them.
 *
 * The caller of mr_register() owns struct mr and the client region; the engine keeps a pointer
 * until mr_deregister(). Keys are random: 24 bits name the region, the low 8 are a tag. Memory
 * windows (mw.h) share the keys: each window has a struct mr of its own, which is the range that
 * the window is bound to.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_MR_H
#define LIB_NIC_ENGINE_OBJECTS_MR_H

#include "lib/nic/engine/objects/mr_refusal.h"
#include "lib/nic/engine/objects/pd.h"
#include "lib/nic/mem/client_memory.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct mw;
struct qp;

struct mr {
	struct pd *pd;
	struct client_region *region;
	uint64_t iova;
	uint64_t length;
	uint64_t region_offset;	 /* where `iova` lies in the region */
	uint32_t access;	 /* enum rnic_access */
	uint32_t key;		 /* lkey and rkey */
	uint32_t bound_windows;	 /* windows bound to it: it must not change while there are any */
	const struct mw *window; /* NULL: a region */
	const struct qp *window_qp; /* type 2B, while bound: the QP that bound the window */
	void *user;		    /* the owner's */
};

/*
 * Gives `mr` (all members but `key` and `bound_windows` filled in by the caller, those zero) a key
 * and makes it known. -ENOSPC, -ENOMEM.
 */
int mr_register(struct engine *engine, struct mr *mr);

/*
 * Makes `mr` equal to `wanted`, but for the key: later accesses find the new region. No window may
 * be bound to `mr` (asserted). Payload on its way is placed first.
 */
void mr_change(struct engine *engine, struct mr *mr, const struct mr *wanted);

/*
 * Forgets the key: later accesses fail. Payload on its way is placed first. No window may be bound
 * to `mr` (asserted).
 */
void mr_deregister(struct engine *engine, struct mr *mr);

/*
 * The region that `key` names for local use, if it belongs to `pd`, grants every right in `access`
 * and covers [address, address + length); else NULL, as for the key of a window. `*offset` is where
 * `address` lies in mr->region. The range check cannot wrap. Where the result is NULL,
 * engine->refusal says why, also for the calls below.
 */
struct mr *mr_find(struct engine *engine, uint32_t key, const struct pd *pd, uint32_t access,
		   uint64_t address, uint64_t length, uint64_t *offset);

/*
 * The same for the peer of `qp`: a region of the QP's PD, or the range of a window of that PD; of a
 * window of type 2B only if the window was bound through `qp` (IBTA 1.4, 10.6.7.2).
 */
struct mr *mr_find_remote(struct engine *engine, uint32_t key, const struct qp *qp,
			  const struct pd *pd, uint32_t access, uint64_t address, uint64_t length,
			  uint64_t *offset);

/* The same without a range: FLUSH of a whole region looks at this. */
struct mr *mr_find_remote_whole(struct engine *engine, uint32_t key, const struct qp *qp,
				const struct pd *pd, uint32_t access);

#endif
