/* SPDX-License-Identifier: MIT */
/*
 * What a program can overwrite in the public struct of an object: the context, which calls would
 * follow, and the handle, by which a kernel would find another object. Each object keeps both as it
 * was made, and every call that gets the object compares before it looks at anything else.
 *
 * The data path follows neither, so it does not compare.
 */
#ifndef LIB_DROPIN_VERBS_IBV_HANDLE_CHECK_H
#define LIB_DROPIN_VERBS_IBV_HANDLE_CHECK_H

#include "lib/dropin/verbs/ibv_objects.h"

#include <errno.h>

static inline struct rnic_verbs_made rnic_verbs_made(struct ibv_context *context, uint32_t handle)
{
	return (struct rnic_verbs_made){.context = context, .handle = handle};
}

/* -ENOENT: another handle, or another context, where a kernel would not find the handle. */
static inline int rnic_verbs_check_made(const struct rnic_verbs_made *made,
					const struct ibv_context *context, uint32_t handle)
{
	return context == made->context && handle == made->handle ? 0 : -ENOENT;
}

static inline int rnic_verbs_check_pd(struct ibv_pd *pd)
{
	return rnic_verbs_check_made(&rnic_verbs_pd(pd)->made, pd->context, pd->handle);
}

static inline int rnic_verbs_check_mr(struct ibv_mr *mr)
{
	return rnic_verbs_check_made(&rnic_verbs_mr(mr)->made, mr->context, mr->handle);
}

static inline int rnic_verbs_check_mw(struct ibv_mw *mw)
{
	return rnic_verbs_check_made(&rnic_verbs_mw(mw)->made, mw->context, mw->handle);
}

static inline int rnic_verbs_check_dm(struct ibv_dm *dm)
{
	return rnic_verbs_check_made(&rnic_verbs_dm(dm)->made, dm->context, dm->handle);
}

static inline int rnic_verbs_check_ah(struct ibv_ah *ah)
{
	return rnic_verbs_check_made(&rnic_verbs_ah(ah)->made, ah->context, ah->handle);
}

static inline int rnic_verbs_check_cq(struct ibv_cq *cq)
{
	return rnic_verbs_check_made(&rnic_verbs_cq(cq)->made, cq->context, cq->handle);
}

static inline int rnic_verbs_check_qp(struct ibv_qp *qp)
{
	return rnic_verbs_check_made(&rnic_verbs_qp(qp)->made, qp->context, qp->handle);
}

static inline int rnic_verbs_check_srq(struct ibv_srq *srq)
{
	return rnic_verbs_check_made(&rnic_verbs_srq(srq)->made, srq->context, srq->handle);
}

/* These have no handle. */
static inline int rnic_verbs_check_td(struct ibv_td *td)
{
	return rnic_verbs_check_made(&rnic_verbs_td(td)->made, td->context, 0);
}

static inline int rnic_verbs_check_xrcd(struct ibv_xrcd *xrcd)
{
	return rnic_verbs_check_made(&rnic_verbs_xrcd(xrcd)->made, xrcd->context, 0);
}

static inline int rnic_verbs_check_channel(struct ibv_comp_channel *channel)
{
	return rnic_verbs_check_made(&rnic_verbs_channel(channel)->made, channel->context, 0);
}

#endif
