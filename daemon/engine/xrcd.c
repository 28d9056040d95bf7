/* SPDX-License-Identifier: MIT */
#include "engine/xrcd.h"

#include "engine/engine.h"
#include "engine/qp.h"
#include "engine/srq.h"

#include <assert.h>

void xrcd_init(struct xrcd *xrcd)
{
	*xrcd = (struct xrcd){0};
	list_init(&xrcd->srqs);
	list_init(&xrcd->targets);
}

void xrcd_fini(struct xrcd *xrcd)
{
	assert(list_is_empty(&xrcd->srqs) && list_is_empty(&xrcd->targets));
	assert(xrcd->target_count == 0);
}

int xrcd_add_target(struct xrcd *xrcd, struct qp *qp)
{
	struct list *node;

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

struct srq *xrcd_find_srq(const struct engine *engine, const struct xrcd *xrcd, uint32_t srqn)
{
	struct srq *srq = key_table_find(&engine->srqs, srqn);

	return srq != NULL && srq->xrcd == xrcd ? srq : NULL;
}
