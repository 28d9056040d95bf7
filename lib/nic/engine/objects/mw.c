/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/mw.h"

#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/qp_state.h"
#include "proto/base/checked.h"

#include <assert.h>

#define RIGHTS_THAT_WRITE (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC)

/* A window is for peers only and has no use for LOCAL_WRITE; hardware ignores the right too. */
#define RIGHTS_KNOWN                                                                               \
	(RIGHTS_THAT_WRITE | RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_LOCAL_WRITE |                   \
	 RNIC_ACCESS_ZERO_BASED | RNIC_ACCESS_FLUSH_GLOBAL | RNIC_ACCESS_OPTIONAL_RANGE)

int mw_alloc(struct engine *engine, struct mw *mw, struct pd *pd, enum rnic_mw_type type)
{
	*mw = (struct mw){
		.range = {.pd = pd, .window = mw},
		.type = (uint8_t)type,
	};
	list_init(&mw->qp_node);
	return mr_register(engine, &mw->range);
}

static void unbind_window(struct mw *mw)
{
	if (mw->bound_to == NULL)
		return;
	assert(mw->bound_to->bound_windows > 0);
	mw->bound_to->bound_windows--;
	mw->bound_to = NULL;
	mw->range.window_qp = NULL;
	list_remove(&mw->qp_node);
	mw->range.region = NULL;
	mw->range.length = 0;
	mw->range.access = 0;
}

void mw_dealloc(struct engine *engine, struct mw *mw)
{
	placement_run(engine);
	unbind_window(mw);
	mr_deregister(engine, &mw->range);
}

void mw_forget_qp(struct qp *qp)
{
	while (!list_is_empty(&qp->windows))
		unbind_window(list_first_entry(&qp->windows, struct mw, qp_node));
}

/* The window of the QP's very PD that `key` names, whatever the tag in its low 8 bits. */
static struct mw *mw_find(const struct qp *qp, uint32_t key)
{
	struct mr *range = key_table_find(&qp->engine->mrs, key >> 8);

	if (range == NULL || range->window == NULL || range->pd != qp->pd)
		return NULL;
	return RNIC_CONTAINER_OF(range, struct mw, range);
}

static bool is_type_2(const struct mw *mw)
{
	return mw->type == RNIC_MW_TYPE_2;
}

/* What the kind of window demands of a bind (o10-36.2.2, o10-37.2.30, o10-37.2.40). */
static bool is_kind_allowed(const struct mw *mw, const struct send_wqe *wqe)
{
	if ((wqe->bind.access & ~(uint32_t)RIGHTS_KNOWN) != 0)
		return false;
	if (is_type_2(mw))
		return mw->bound_to == NULL && wqe->bind.length > 0;
	return (wqe->bind.access & RNIC_ACCESS_ZERO_BASED) == 0;
}

/*
 * The region to bind to, and the place in it: the region must allow binding, and writing when the
 * window does (C10-73 to C10-75). The region must have the QP's very struct pd: no window keeps
 * another client's region from ending.
 */
static struct mr *mw_find_region(const struct qp *qp, const struct send_wqe *wqe, uint64_t *offset)
{
	uint32_t access = RNIC_ACCESS_MW_BIND;
	struct mr *region;

	if (wqe->bind.access & RIGHTS_THAT_WRITE)
		access |= RNIC_ACCESS_LOCAL_WRITE;
	region = mr_find(qp->engine, wqe->immediate, qp->pd, access, wqe->remote_address,
			 wqe->bind.length, offset);
	return region != NULL && region->pd == qp->pd ? region : NULL;
}

enum verdict mw_bind(struct qp *qp, const struct send_wqe *wqe)
{
	struct mw *mw = mw_find(qp, wqe->rkey);
	struct mr *region = NULL;
	uint64_t offset = 0;

	if (mw == NULL || !is_kind_allowed(mw, wqe))
		return VERDICT_BIND_REFUSED;
	if (wqe->bind.length > 0) {
		region = mw_find_region(qp, wqe, &offset);
		if (region == NULL)
			return VERDICT_BIND_REFUSED;
	}
	placement_run(qp->engine);
	unbind_window(mw);
	mw->range.key = wqe->rkey;
	if (region == NULL)
		return VERDICT_PASS;
	mw->bound_to = region;
	region->bound_windows++;
	mw->range.region = region->region;
	mw->range.iova = wqe->bind.access & RNIC_ACCESS_ZERO_BASED ? 0 : wqe->remote_address;
	mw->range.length = wqe->bind.length;
	mw->range.region_offset = offset;
	mw->range.access = wqe->bind.access & ~(uint32_t)RNIC_ACCESS_LOCAL_WRITE;
	if (is_type_2(mw)) {
		mw->range.window_qp = qp;
		list_add_tail(&qp->windows, &mw->qp_node);
	}
	return VERDICT_PASS;
}

bool mw_can_invalidate(const struct qp *qp, uint32_t key)
{
	const struct mw *mw = mw_find(qp, key);

	return mw != NULL && is_type_2(mw) && mw->range.key == key &&
	       (mw->range.window_qp == NULL || mw->range.window_qp == qp);
}

void mw_invalidate(struct qp *qp, uint32_t key)
{
	assert(mw_can_invalidate(qp, key));
	placement_run(qp->engine);
	unbind_window(mw_find(qp, key));
}
