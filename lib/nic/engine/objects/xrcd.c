/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/xrcd.h"

#include "lib/nic/engine/engine_limits.h"
#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/objects/pd.h"
#include "lib/nic/engine/objects/srq_queue.h"
#include "lib/nic/engine/qp_state.h"

#include <assert.h>
#include <errno.h>

void xrcd_init(struct xrcd *xrcd)
{
	*xrcd = (struct xrcd){0};
	list_init(&xrcd->srqs);
	list_init(&xrcd->targets);
}

void xrcd_fini(struct xrcd *xrcd)
{
	assert(list_is_empty(&xrcd->srqs) && list_is_empty(&xrcd->targets));
	assert(xrcd->target_count == 0 && xrcd->srq_count == 0);
}

/* Each target may give an entry back to each SRQ, so the room for them grows with the product. */
static bool is_room_for(uint32_t target_count, uint32_t srq_count)
{
	return (uint64_t)target_count * srq_count <= LIMIT_XRCD_PAIRS;
}

int xrcd_add_target(struct xrcd *xrcd, struct qp *qp)
{
	struct list *node;

	if (!is_room_for(xrcd->target_count + 1, xrcd->srq_count))
		return -ENOSPC;
	list_for_each (node, &xrcd->srqs) {
		struct srq *srq = list_entry(node, struct srq, domain_node);
		int error = recv_queue_reserve(&srq->queue, xrcd->target_count + 1);

		if (error != 0)
			return error;
	}
	list_add_tail(&xrcd->targets, &qp->domain_node);
	xrcd->target_count++;
	return 0;
}

void xrcd_remove_target(struct xrcd *xrcd, struct qp *qp)
{
	list_remove(&qp->domain_node);
	xrcd->target_count--;
}

int xrcd_add_srq(struct xrcd *xrcd, struct srq *srq)
{
	int error;

	if (!is_room_for(xrcd->target_count, xrcd->srq_count + 1))
		return -ENOSPC;
	error = recv_queue_reserve(&srq->queue, xrcd->target_count);
	if (error != 0)
		return error;
	list_add_tail(&xrcd->srqs, &srq->domain_node);
	xrcd->srq_count++;
	return 0;
}

void xrcd_remove_srq(struct xrcd *xrcd, struct srq *srq)
{
	list_remove(&srq->domain_node);
	xrcd->srq_count--;
}

struct srq *xrcd_find_srq(const struct engine *engine, const struct xrcd *xrcd, uint32_t srqn)
{
	struct srq *srq = key_table_find(&engine->srqs, srqn);

	return srq != NULL && srq->xrcd == xrcd && !srq->pd->is_closed ? srq : NULL;
}
